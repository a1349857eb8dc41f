// What the errors of many cases come to.
#pragma once

#include <cstddef>
#include <vector>

namespace moire::validate {

// Of absolute errors, but for the bias.
struct Summary {
  std::size_t cases = 0;
  double mean = 0;
  double median = 0;
  double percentile_95 = 0;
  double worst = 0;
  std::size_t worst_at = 0;  // the first of its size, by its number among the errors
  double bias = 0;           // the mean of the errors with their signs
};

// All zero where there are no errors.
Summary summarise(const std::vector<double>& errors);

// The value at position p (n - 1) of the n sorted values, counted from 0; between two of them by linear interpolation.
double percentile(std::vector<double> values, double p);

}  // namespace moire::validate
