// What a plan must keep before it is worth running: limits of the runtime, ranges of chunks, counts that must agree.
#pragma once

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Limits of the runtime; a plan that passes them by may still be judged.
void check_limits(const Plan& plan, config::Diagnostics& diagnostics);

// Operands, channels, barriers, semaphores, signals and waits. What fails here cannot be run.
void check_rules(const Plan& plan, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
