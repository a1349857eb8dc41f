// Row popularity: P(rank k) = k^-s / sum over j of j^-s, k = 1..rows (bounded Zipf), drawn by inverting the exact CDF.
// The CDF is a table and not a formula, so that host and device agree on every draw, however their pow() rounds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

// The CDF as kernels and the reference use it; cdf == nullptr means uniform popularity.
struct Popularity {
  const uint64_t* cdf = nullptr;    // [rank - 1]: P(up to this rank) in units of 2^-64; the last is all ones
  const uint32_t* guide = nullptr;  // [g]: where the search begins for draws whose upper bits are g
};

inline constexpr int kGuideBits = 16;

// The rank (from 0) that the 64 random bits `draw` select: the first one whose CDF is above `draw`.
__host__ __device__ inline uint32_t rank_at(const Popularity& p, uint64_t draw) {
  const uint32_t bucket = uint32_t(draw >> (64 - kGuideBits));
  uint32_t low = p.guide[bucket], high = p.guide[bucket + 1];
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (draw < p.cdf[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

class PopularityTable {
 public:
  PopularityTable(int rows, double exponent);
  Popularity view() const { return {cdf_.data(), guide_.data()}; }
  const std::vector<uint64_t>& cdf() const { return cdf_; }
  const std::vector<uint32_t>& guide() const { return guide_; }

 private:
  std::vector<uint64_t> cdf_;
  std::vector<uint32_t> guide_;
};
