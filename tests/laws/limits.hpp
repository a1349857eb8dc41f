// Checks laws of limiting cases: all rates are unlimited (floor), the size is large (rate), or all rates but one are
// unlimited (bottleneck).
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// Returns all numbers that determine the time of a run, including those of libraries, with their --set paths.
std::vector<Parameter> numbers_of_run(const Case& one);

Verdict floor_law(const Case& one, Random random, const Cost& cost);
Verdict rate_law(const Case& one, Random random, const Cost& cost);
bool has_bottleneck(const std::string& op);
Verdict bottleneck_law(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
