// An MSCCL algorithm as a channel program: a thread block is a channel, which walks through its steps call by call.
#pragma once

#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/msccl/algorithm.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

using ir::ChannelProgram;
using ir::Op;
using ir::Rank;
using ir::Step;

// What a library's FIFOs take of the runtime's: a chunk of the library is a call.
msccl::Fifo fifo_of(const libraries::ProtocolSpec& protocol);

// The algorithm keeps the rules of the format (msccl::read_xml). `bytes` of the whole buffer.
std::shared_ptr<const ChannelProgram> algorithm_program(std::shared_ptr<const msccl::Algorithm> algorithm,
                                                        std::uint64_t bytes, const msccl::Fifo& fifo);

}  // namespace moire::collective
