#include "app/timeline/lanes.hpp"

#include <iterator>
#include <limits>

namespace moire::timeline {

std::uint32_t Lanes::place(Time begin, Time end, std::uint64_t owner) {
  constexpr auto any_lane = std::numeric_limits<std::uint32_t>::max();
  constexpr auto any_owner = std::numeric_limits<std::uint64_t>::max();
  auto lane = free_.lower_bound({begin, owner, 0});
  const bool own = lane != free_.end() && std::get<0>(*lane) == begin && std::get<1>(*lane) == owner;
  if (!own) {
    lane = free_.upper_bound({begin, any_owner, any_lane});
    lane = lane == free_.begin() ? free_.end() : std::prev(lane);
  }
  std::uint32_t number = count_;
  if (lane == free_.end()) {
    ++count_;
  } else {
    number = std::get<2>(*lane);
    free_.erase(lane);
  }
  free_.emplace(end, owner, number);
  return number;
}

}  // namespace moire::timeline
