// Laws of runs at an operating point: clocks, power limits, energy.
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// A higher clock or power limit never makes a run slower. `sustained` is never faster than `burst`, and equal to the
// last digit if the clock is not lowered. Mean power is at most peak power, and energy is power times time.
Verdict operated(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
