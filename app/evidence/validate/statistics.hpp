// Statistics of the errors of many cases.
#pragma once

#include <cstddef>
#include <vector>

namespace moire::validate {

// Statistics of errors. All members except `bias` are computed from the absolute values of the errors.
struct Summary {
  std::size_t cases = 0;
  double mean = 0;
  double median = 0;
  double percentile_95 = 0;
  double worst = 0;
  std::size_t worst_at = 0;  // index of the first error whose absolute value is `worst`
  double bias = 0;           // mean of the signed errors
};

// Returns the statistics of `errors`. All members are zero if there are no errors.
Summary summarise(const std::vector<double>& errors);

// Returns the value below which a share `p` (0 to 1) of the n values lie. It is at position p (n - 1) of the sorted
// values, counted from 0, and is interpolated between the two nearest values. Returns 0 if there are no values.
double percentile(std::vector<double> values, double p);

}  // namespace moire::validate
