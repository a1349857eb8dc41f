// A plan as a channel program: a thread block is a channel, an operation one or more one-sided steps.
#pragma once

#include <cstdint>
#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Chunks of the buffer that a message size is about: a rank's input, of an all-gather its output.
std::uint32_t message_chunks(const Plan& plan);

// For a message of `bytes`, on nodes of `node` GPUs whose threads reach each other's memory. The plan is proved
// (check). Null, with the reasons at their operations, where it asks for what channels do not do.
std::shared_ptr<const ir::ChannelProgram> plan_program(const Plan& plan, std::uint64_t bytes, std::uint32_t node,
                                                       config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
