// Distributes spans (intervals of time) to the lanes (rows) of a track, so that spans on one lane do not overlap.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "sim/core/quantity.hpp"

namespace moire::timeline {

// Spans should be placed in the order of their ends. Of the lanes that are free when a span begins, the span takes the
// one that became free last. By this rule, the number of lanes never exceeds the number of spans that overlap at one
// time. (Spans in another order are placed correctly, but on more lanes.) The memory is one entry per lane.
class Lanes {
 public:
  // Places a span and returns the number of its lane. A span that begins when an earlier span of the same owner ends
  // gets the same lane.
  std::uint32_t place(Time begin, Time end, std::uint64_t owner);

  std::uint32_t count() const { return count_; }

 private:
  std::set<std::tuple<Time, std::uint64_t, std::uint32_t>> free_;  // free since, last owner, lane
  std::uint32_t count_ = 0;
};

}  // namespace moire::timeline
