// An MSCCL algorithm as a channel program: each thread block is a channel that walks through its steps, one call of the
// runtime at a time.
#pragma once

#include <functional>
#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/codings.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

using ir::ChannelProgram;
using ir::Op;
using ir::Rank;
using ir::Step;

// The library's FIFO in terms of the MSCCL runtime: a call moves one chunk of the protocol, and a connection holds
// slots / slices calls.
msccl::Fifo fifo_of(const libraries::ProtocolSpec& protocol);

// `algorithm` keeps the rules of the format (msccl::read_xml checks them). `bytes` is the size of the whole buffer.
// A step that moves encoded chunks (`codings`) moves 1 / ratio_of(n) of the plain bytes of chunk n.
using RatioOf = std::function<double(std::int64_t)>;
std::shared_ptr<const ChannelProgram> algorithm_program(std::shared_ptr<const msccl::Algorithm> algorithm,
                                                        std::uint64_t bytes, const msccl::Fifo& fifo,
                                                        const proof::Codings& codings = {},
                                                        const RatioOf& ratio_of = nullptr);

// Plain over encoded bytes of the chunks numbers[0 .. count - 1], count >= 1.
double mean_ratio(const std::uint32_t* numbers, std::size_t count, const RatioOf& ratio_of);

}  // namespace moire::collective
