// Checks laws of runs with a slow part or a late rank (`perturb`).
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// Checks that a slower GPU, NIC or link never makes a run faster.
Verdict slower(const Case& one, Random random, const Cost& cost);
// Makes ranks begin up to a time s later, and checks that the run never ends sooner, nor more than s later.
Verdict late(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
