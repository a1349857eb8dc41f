// The rules that a plan must keep to be run at all: limits of the runtime, operands inside of their buffers, and equal
// numbers of signals and waits.
#pragma once

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Checks the limits of the runtime. A plan that exceeds them can still be run and proved.
void check_limits(const Plan& plan, config::Diagnostics& diagnostics);

// Checks operands, channels, barriers, semaphores, signals and waits. A plan with such an error cannot be run.
void check_rules(const Plan& plan, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
