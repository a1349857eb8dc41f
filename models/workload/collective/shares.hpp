// How the bytes of a collective are cut into parts of the ranks and dealt to channels. All of it is whole bytes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "sim/core/failure.hpp"

namespace moire::collective {

struct Shares {
  double bytes = 0;            // of all channels together
  std::uint32_t channels = 1;  // that have some
  double share = 0;            // of one; the last one's may be smaller
  double of(std::uint32_t channel) const { return std::clamp(bytes - channel * share, 0.0, share); }
};

// A buffer that is cut into a part for each rank: all are as large as the first, but for the last ones, which have what
// is left, and may have nothing.
struct Parts {
  double bytes = 0;  // of all
  double each = 0;
  double of(std::uint32_t part) const { return std::clamp(bytes - part * each, 0.0, each); }
  bool all_alike(std::uint32_t parts) const { return parts * each == bytes; }
};
inline Parts cut(double bytes, std::uint32_t parts, double unit = 1) {
  return {bytes, std::ceil(std::ceil(bytes / parts) / unit) * unit};
}

// A slip in a chunk must not run for days. `pieces` is how many all ranks move together.
inline void check_pieces(double pieces, const std::string& what) {
  constexpr double most = 1e9;  // some minutes to an hour
  if (pieces <= most) return;
  throw core::TooLarge(
      fmt::format("all ranks together move {:.1e} {}, at most {:.0e} are simulated", pieces, what, most),
      "take larger ones in the library, or make the collective smaller");
}

// Whole cells, over at most `channels` of them.
inline Shares deal(double bytes, std::uint32_t channels, double cell) {
  const double cells = std::max(1.0, std::ceil(bytes / cell));
  const double each = std::ceil(cells / channels);
  return {bytes, static_cast<std::uint32_t>(std::ceil(cells / each)), each * cell};
}

}  // namespace moire::collective
