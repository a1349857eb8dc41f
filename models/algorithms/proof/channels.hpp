// A channel program over FIFOs (a library's ring, tree, ...) as what is proved: each strand of a channel is a block,
// each step a call.
#pragma once

#include <optional>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/algorithms/proof/races.hpp"
#include "models/algorithms/proof/result.hpp"

namespace moire::proof {

// What a channel program claims to do.
struct Claim {
  ir::Collective collective = ir::Collective::all_reduce;
  std::int32_t ranks = 0;
  std::int64_t bytes = 0;  // of the whole buffer: all ranks' parts of all-gather and reduce-scatter
  CallPattern pattern = CallPattern::out_of_place;
  std::int32_t root = 0;
};

struct Proof {
  std::vector<Wait> cycle;  // of a deadlock; then nothing else is said
  Result result;
  Races races;
  bool holds() const { return cycle.empty() && result.correct() && result.unwritten_reads == 0 && races.count == 0; }
};

// Every place and size is whole bytes; a cell is as many as measure all of them. `slots` chunks fit into a connection.
Proof prove(const ir::ChannelProgram& channels, const Claim& claim, std::uint32_t slots);

}  // namespace moire::proof
