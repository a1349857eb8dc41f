// Places spans that overlap in time on lanes where they do not.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "sim/core/quantity.hpp"

namespace moire::timeline {

// Spans come in the order of their end, each when it is over. The lane that became free last before the span's begin
// takes it: with that rule there are never more lanes than spans that overlap. (Spans in another order are placed
// correctly too, on more lanes.) Memory: one entry a lane.
class Lanes {
 public:
  // Number of the lane. A span that begins where one of the same owner ended goes on in its lane.
  std::uint32_t place(Time begin, Time end, std::uint64_t owner);

  std::uint32_t count() const { return count_; }

 private:
  std::set<std::tuple<Time, std::uint64_t, std::uint32_t>> free_;  // since when, last owner, lane
  std::uint32_t count_ = 0;
};

}  // namespace moire::timeline
