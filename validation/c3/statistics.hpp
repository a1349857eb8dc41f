// Quantiles of repeated measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

// Returns the q-quantile of the values (0.5: the median), interpolated linearly between neighbours; 0 if there are
// none.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * double(values.size() - 1);
  const size_t below = size_t(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - double(below));
}
