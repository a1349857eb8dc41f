// Translates a plan to a channel program: each thread block is a channel, each operation one or more one-sided steps.
#pragma once

#include <cstdint>
#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Returns how many chunks make up a message, which is a rank's whole input buffer, or for all-gather its whole output.
std::uint32_t message_chunks(const Plan& plan);

// Translates the plan for a message of `bytes`. A node has `node` GPUs. Threads of a GPU reach the memory of all GPUs
// of their node. The plan must have passed check(). If channel programs cannot express an operation, reports it and
// returns null.
std::shared_ptr<const ir::ChannelProgram> plan_program(const Plan& plan, std::uint64_t bytes, std::uint32_t node,
                                                       config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
