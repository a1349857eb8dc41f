#include "popularity.hpp"

#include <algorithm>
#include <cmath>

PopularityTable::PopularityTable(int rows, double exponent) : cdf_(rows), guide_((1 << kGuideBits) + 1) {
  std::vector<long double> sum(rows);
  long double total = 0;
  for (int k = 0; k < rows; ++k) sum[k] = total += std::pow(double(k + 1), -exponent);
  for (int k = 0; k < rows; ++k) {
    const long double scaled = std::ldexp(sum[k] / total, 64);
    cdf_[k] = scaled >= 0x1p64L ? UINT64_MAX : uint64_t(scaled);
  }
  cdf_.back() = UINT64_MAX;
  for (uint64_t g = 0; g < guide_.size() - 1; ++g)
    guide_[g] = uint32_t(std::upper_bound(cdf_.begin(), cdf_.end() - 1, g << (64 - kGuideBits)) - cdf_.begin());
  guide_.back() = uint32_t(rows - 1);
}
