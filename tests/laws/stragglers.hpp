// Laws of runs in which a part is slow or a rank late (`perturb`).
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// A slower GPU, NIC or link never makes a run faster.
Verdict slower(const Case& one, Random random, const Cost& cost);
// Ranks that begin at most s later never make a run end sooner, nor more than s later.
Verdict late(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
