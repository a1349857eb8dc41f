// Translates a plan to a channel program: each thread block is a channel, each operation one or more one-sided steps.
#pragma once

#include <cstdint>
#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Returns the number of chunks that make up a message: those of a rank's input, or for all-gather those of its output.
std::uint32_t message_chunks(const Plan& plan);

// Translates the plan for a message of `bytes`. A node has `node` GPUs, whose threads reach each other's memory. The
// plan must have passed check(). If channel programs cannot express an operation, reports it and returns null.
std::shared_ptr<const ir::ChannelProgram> plan_program(const Plan& plan, std::uint64_t bytes, std::uint32_t node,
                                                       config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
