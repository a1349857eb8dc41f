// What the ranks of a collective spend in it: waiting until all have come, and moving data after that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/replay/replay.hpp"
#include "models/workload/builder/builder.hpp"

namespace moire::study {

// Of one rank: wait from its own arrival (its queue has come to the collective) until the last member of its
// communicator has arrived, or until its own end where that is sooner; move: the rest, to its own end.
struct RankTime {
  Time wait, move;
};

// By rank that took part and was simulated; nothing of a collective without operations.
std::vector<RankTime> rank_times(const builder::Exchange& exchange, std::size_t first_operation,
                                 const replay::Result& result);

}  // namespace moire::study
