// The limits of the MSCCL++ runtime, and the rules that a plan must keep to be run at all, such as operands inside of
// their buffers and equal numbers of signals and waits.
#pragma once

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

// Reports as errors where the plan exceeds limits of the MSCCL++ runtime. check() still executes and proves such a
// plan.
void check_limits(const Plan& plan, config::Diagnostics& diagnostics);

// Checks operands, channels, barriers, semaphores, signals and waits. A plan with such an error cannot be run.
void check_rules(const Plan& plan, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
