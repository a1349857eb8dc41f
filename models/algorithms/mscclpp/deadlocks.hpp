// Reports why the run of a plan (execution.hpp) cannot go on.
#pragma once

#include "models/algorithms/mscclpp/state.hpp"

namespace moire::mscclpp {

// Adds a fault for each thread block that has not ended, if no thread block can go on: what it waits for, and why this
// does not come.
void report_deadlocks(State& state);

}  // namespace moire::mscclpp
