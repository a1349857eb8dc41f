// Laws of runs with a slow part or a late rank (`perturb`).
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// A slower GPU, NIC or link never makes a run faster.
Verdict slower(const Case& one, Random random, const Cost& cost);
// If ranks begin up to s later, a run never ends sooner, nor more than s later.
Verdict late(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
