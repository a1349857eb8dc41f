// Statistics of the errors of many cases.
#pragma once

#include <cstddef>
#include <vector>

namespace moire::validate {

// Statistics of the absolute errors; only the bias is of signed errors.
struct Summary {
  std::size_t cases = 0;
  double mean = 0;
  double median = 0;
  double percentile_95 = 0;
  double worst = 0;
  std::size_t worst_at = 0;  // index of the first error with the size `worst`
  double bias = 0;           // mean of the signed errors
};

// All members are zero if there are no errors.
Summary summarise(const std::vector<double>& errors);

// Returns the value at position p (n - 1) of the n sorted values, counted from 0, with linear interpolation.
double percentile(std::vector<double> values, double p);

}  // namespace moire::validate
