// The overhead of a slice varies uniformly within its spread, and is always the same for the same slice: splitmix64 of
// its channel, strand and number. The rank is not hashed, so channels get out of step but ranks do not.
#pragma once

#include <cmath>
#include <cstdint>

#include "sim/core/quantity.hpp"

namespace moire::collective {

inline Time spread_out(Time overhead, double spread, std::uint32_t channel, std::uint32_t strand,
                       std::uint32_t number) {
  if (spread == 0) return overhead;
  std::uint64_t z = (std::uint64_t{channel} << 33 ^ std::uint64_t{strand} << 32 ^ number) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
  const double even = static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-52 - 1;  // -1 to 1
  return Time{overhead.ps + std::llround(static_cast<double>(overhead.ps) * spread * even)};
}

}  // namespace moire::collective
