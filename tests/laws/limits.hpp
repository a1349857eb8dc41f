// Laws of limits: capacities without end, sizes without end, one capacity alone.
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// All numbers that a run takes its time from, libraries included, where --set finds them.
std::vector<Parameter> numbers_of_run(const Case& one);

Verdict floor_law(const Case& one, Random random, const Cost& cost);
Verdict rate_law(const Case& one, Random random, const Cost& cost);
bool has_bottleneck(const std::string& op);
Verdict bottleneck_law(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
