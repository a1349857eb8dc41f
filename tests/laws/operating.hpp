// Checks laws of runs at an operating point: laws of clocks, power limits and energy.
#pragma once

#include "tests/laws/laws.hpp"

namespace moire::laws {

// Checks that a higher clock or power limit never makes a run slower. A run at `sustained`, the clock that the power
// limit allows, must never be faster than at `burst`, the full clock. If the clock is not lowered, both times must be
// equal to the last digit. Mean power must be at most peak power, and energy must be power times time.
Verdict operated(const Case& one, Random random, const Cost& cost);

}  // namespace moire::laws
