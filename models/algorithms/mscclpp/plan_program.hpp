// Translates a plan to a channel program: each thread block is a channel, each operation one or more one-sided steps.
#pragma once

#include <cstdint>
#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// The chunks that a message size counts: a rank's input; for all-gather, its output.
std::uint32_t message_chunks(const Plan& plan);

// For a message of `bytes` on nodes of `node` GPUs, whose threads reach each other's memory. The plan must have passed
// check. If it needs what channel programs cannot do, returns null and reports at the operations.
std::shared_ptr<const ir::ChannelProgram> plan_program(const Plan& plan, std::uint64_t bytes, std::uint32_t node,
                                                       config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
