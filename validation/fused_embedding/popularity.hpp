// Row popularity by Zipf's law: the k-th most popular of the rows is read with probability k^-s / sum over j of j^-s,
// where k and j go from 1 to the number of rows and s is the exponent. A row is drawn by searching a table of the CDF.
// The host fills the table, so host and device agree on every draw even if their pow() round differently.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

// Pointers to the table of the CDF, which kernels and the CPU reference use. If `cdf` is null, all rows are equally
// popular.
struct Popularity {
  const uint64_t* cdf = nullptr;    // [k - 1]: probability of the k most popular rows, times 2^64 (the last: 2^64 - 1)
  const uint32_t* guide = nullptr;  // [g]: index at which the search begins for draws whose upper kGuideBits bits are g
};

inline constexpr int kGuideBits = 16;

// Returns the popularity rank (0: the most popular row) that the 64 random bits `draw` select: the first rank whose CDF
// is above `draw`.
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
