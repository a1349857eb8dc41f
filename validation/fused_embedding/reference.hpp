// The reference result, computed on the CPU: every checked element of the output is summed again in double precision
// from the same synthetic data and then rounded to the dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "shape.hpp"

struct CheckResult {
  int64_t checked = 0;
  int64_t wrong = 0;       // elements that are not bit-equal; the data make fp32 sums exact
  double worst_error = 0;  // largest absolute difference
};

// `elements[i]` is an index into the output of `rank`, which has `layout`; `values[i]` is the value that the GPU stored
// there.
CheckResult check_outputs(const Shape& shape, const Popularity& popularity, Layout layout, int rank, uint64_t seed,
                          const std::vector<int64_t>& elements, const std::vector<float>& values);
