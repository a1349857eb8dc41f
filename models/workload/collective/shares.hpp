// How the bytes of a collective are dealt to channels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace moire::collective {

struct Shares {
  double bytes = 0;            // of all channels together
  std::uint32_t channels = 1;  // that have some
  double share = 0;            // of one; the last one's may be smaller
  double of(std::uint32_t channel) const { return std::clamp(bytes - channel * share, 0.0, share); }
};

// Whole cells, over at most `channels` of them.
inline Shares deal(double bytes, std::uint32_t channels, double cell) {
  const double cells = std::max(1.0, std::ceil(bytes / cell));
  const double each = std::ceil(cells / channels);
  return {bytes, static_cast<std::uint32_t>(std::ceil(cells / each)), each * cell};
}

}  // namespace moire::collective
