// Estimates the work of running a plan (execution.hpp), so that plans which would take too long are refused.
#pragma once

#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

inline constexpr double most_work = 400e6;  // work_of() of the largest plan that is run

// Returns an estimate of the work of a run without a unit: the terms of sums and entries of vector clocks that the run
// handles, plus 200 for each slice of memory.
double work_of(const Plan& plan, Cut cut);

}  // namespace moire::mscclpp
