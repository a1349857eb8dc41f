// Varies the overhead of a slice uniformly between (1 - spread) and (1 + spread) times its value. A hash (splitmix64)
// determines the variation, so that it is the same in every run. Its inputs are the channel, the strand (a group of the
// channel's threads) and the number of the slice. The rank is not hashed, so channels get out of step but ranks do not.
#pragma once

#include <cmath>
#include <cstdint>

#include "sim/core/quantity.hpp"

namespace moire::collective {

inline Time spread_out(Time overhead, double spread, std::uint32_t channel, std::uint32_t strand, std::uint32_t slice) {
  if (spread == 0) return overhead;
  std::uint64_t z = (std::uint64_t{channel} << 33 ^ std::uint64_t{strand} << 32 ^ slice) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
  const double even = static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-52 - 1;  // -1 to 1
  return Time{overhead.ps + std::llround(static_cast<double>(overhead.ps) * spread * even)};
}

}  // namespace moire::collective
