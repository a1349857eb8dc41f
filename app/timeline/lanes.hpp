// Distributes spans to lanes such that spans on one lane do not overlap.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "sim/core/quantity.hpp"

namespace moire::timeline {

// Spans must come in the order of their ends. Each span takes the lane that became free last before the span begins. By
// this rule there are never more lanes than spans that overlap at one time. (Spans in another order are placed
// correctly, but on more lanes.) The memory is one entry per lane.
class Lanes {
 public:
  // Returns the number of the lane. A span that begins when an earlier span of the same owner ends gets the same lane.
  std::uint32_t place(Time begin, Time end, std::uint64_t owner);

  std::uint32_t count() const { return count_; }

 private:
  std::set<std::tuple<Time, std::uint64_t, std::uint32_t>> free_;  // free since, last owner, lane
  std::uint32_t count_ = 0;
};

}  // namespace moire::timeline
