// Checks outputs on the CPU: sums every checked element again in double precision from the same synthetic data, and
// then rounds it to the dtype.
#pragma once

#include <cstdint>
#include <vector>

#include "shape.hpp"

struct CheckResult {
  int64_t checked = 0;
  int64_t wrong = 0;       // elements that differ in any bit: the data are chosen so that fp32 sums are exact
  double worst_error = 0;  // largest absolute difference
};

// Compares values of the output of `rank` with the reference. `elements[i]` is an index into this output, which has the
// layout `layout`; `values[i]` is the value that the GPU stored there.
CheckResult check_outputs(const Shape& shape, const Popularity& popularity, Layout layout, int rank, uint64_t seed,
                          const std::vector<int64_t>& elements, const std::vector<float>& values);
