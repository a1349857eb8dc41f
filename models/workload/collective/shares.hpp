// Divides the bytes of a collective into one part per rank, and deals bytes to channels. All sizes are whole bytes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "sim/core/failure.hpp"

namespace moire::collective {

inline constexpr double flag_bytes = 8;  // size of a put that carries a flag but no data: a credit or an empty slice

struct Shares {
  double bytes = 0;            // of all channels together
  std::uint32_t channels = 1;  // number of channels that get any bytes
  double share = 0;            // bytes of one channel; the last channel may get fewer
  double of(std::uint32_t channel) const { return std::clamp(bytes - channel * share, 0.0, share); }
};

// A buffer that is cut into one part per rank. All parts are as large as the first one, except that the last parts hold
// the rest of the bytes and may be empty.
struct Parts {
  double bytes = 0;  // of all parts
  double each = 0;
  double of(std::uint32_t part) const { return std::clamp(bytes - part * each, 0.0, each); }
  bool all_alike(std::uint32_t parts) const { return parts * each == bytes; }
};
inline Parts cut(double bytes, std::uint32_t parts, double unit = 1) {
  return {bytes, std::ceil(std::ceil(bytes / parts) / unit) * unit};
}

// Throws core::TooLarge if all ranks together move more than 1e9 pieces, so that a typing error in a chunk size does
// not make a simulation run for days. `what` names the pieces in the message, for example as chunks or slots.
inline void check_pieces(double pieces, const std::string& what) {
  constexpr double most = 1e9;  // a simulation of this size takes minutes to an hour
  if (pieces <= most) return;
  throw core::TooLarge(
      fmt::format("all ranks together move {:.1e} {}, but at most {:.0e} can be simulated", pieces, what, most),
      "write larger chunks or slots in the library's file, or make the collective smaller");
}

// Deals `bytes` to at most `channels` channels, in whole cells of `cell` bytes each. Only the last share may be
// smaller.
inline Shares deal(double bytes, std::uint32_t channels, double cell) {
  const double cells = std::max(1.0, std::ceil(bytes / cell));
  const double each = std::ceil(cells / channels);
  return {bytes, static_cast<std::uint32_t>(std::ceil(cells / each)), each * cell};
}

}  // namespace moire::collective
