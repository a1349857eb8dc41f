// Divides the time of a rank in a collective into waiting until all ranks have arrived, and moving data after that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/replay/replay.hpp"
#include "models/workload/builder/builder.hpp"

namespace moire::study {

// Times of one rank. wait: from its own arrival until the last member of its communicator arrives, or until its own end
// if that is earlier. A rank arrives when its queue reaches the collective. move: from the end of the wait to its own
// end.
struct RankTime {
  Time wait, move;
};

// Returns the times of each simulated rank that takes part; empty if the collective has no operations.
// `first_operation` is the index in result.spans of the collective's first operation.
std::vector<RankTime> rank_times(const builder::Exchange& exchange, std::size_t first_operation,
                                 const replay::Result& result);

}  // namespace moire::study
