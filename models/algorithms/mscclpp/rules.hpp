// What a plan must keep to be run at all: limits of the runtime, valid chunks, counts that agree.
#pragma once

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Limits of the runtime. A plan that exceeds them may still be judged.
void check_limits(const Plan& plan, config::Diagnostics& diagnostics);

// Operands, channels, barriers, semaphores, signals and waits. A plan with an error here cannot be run.
void check_rules(const Plan& plan, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
