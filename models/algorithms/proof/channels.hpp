// Proves a channel program over FIFOs (a library's ring, tree, ...). A strand is a group of a channel's threads with
// steps of its own. Each strand of a channel becomes a block, and each step makes one call.
#pragma once

#include <optional>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/proof/races.hpp"
#include "models/algorithms/proof/result.hpp"

namespace moire::proof {

// What a channel program is supposed to do.
struct Claim {
  ir::Collective collective = ir::Collective::all_reduce;
  std::int32_t ranks = 0;
  std::int64_t bytes = 0;  // of the whole buffer; for all-gather and reduce-scatter, all ranks' parts together
  CallPattern pattern = CallPattern::out_of_place;
  std::int32_t root = 0;
};

struct Proof {
  std::vector<Wait> cycle;  // set when the program deadlocks; result and races are empty then
  Result result;
  Races races;
  bool holds() const { return cycle.empty() && result.correct() && result.unwritten_reads == 0 && races.count == 0; }
};

// Proves that the channel program does what the claim states. A connection holds `slots` chunks. All positions and
// sizes must be whole numbers of bytes. A cell of the proof has as many bytes as their greatest common divisor.
Proof prove(const ir::ChannelProgram& channels, const Claim& claim, std::uint32_t slots);

}  // namespace moire::proof
