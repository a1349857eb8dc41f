// Turns an MSCCL algorithm into a channel program. Each thread block becomes a channel, which takes the thread block's
// steps call by call. A call of the MSCCL runtime moves as many bytes as one chunk of the protocol holds, or fewer.
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

// Returns the library's FIFO in the terms of the MSCCL runtime: the bytes of a call are those of the protocol's chunk,
// and a connection holds the data of slots / slices calls.
msccl::Fifo fifo_of(const libraries::ProtocolSpec& protocol);

// Returns the compression ratio of the encoded chunk with this number: its plain bytes divided by its encoded bytes.
using RatioOf = std::function<double(std::int64_t)>;
// Returns the algorithm as a channel program for a whole buffer of `bytes` bytes. The algorithm must obey the rules of
// the MSCCL format, which msccl::read_xml checks. `codings` states which steps move encoded chunks. A step that moves
// encoded chunk n moves the chunk's plain bytes divided by ratio_of(n). `held`: bytes of a rank's data that its L2
// keeps.
std::shared_ptr<const ChannelProgram> algorithm_program(std::shared_ptr<const msccl::Algorithm> algorithm,
                                                        std::uint64_t bytes, const msccl::Fifo& fifo, Bytes held,
                                                        const proof::Codings& codings = {},
                                                        const RatioOf& ratio_of = nullptr);

// Returns the plain bytes divided by the encoded bytes of the chunks numbers[0 .. count - 1], count >= 1.
double mean_ratio(const std::uint32_t* numbers, std::size_t count, const RatioOf& ratio_of);

}  // namespace moire::collective
