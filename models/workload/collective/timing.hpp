// How long a collective takes alone on a machine: what microbenchmarks of a library measure and its profile is fitted
// to.
#pragma once

#include "models/workload/collective/collective.hpp"

namespace moire::collective {

// Nothing but the collective.
program::Program alone(const libraries::EquippedSystem& system, const Collective& collective);

// By a kernel: from the start of the first workgroup to the end of the last one over all ranks; no launch in it. By
// copies: from the start of the first operation to the end of the last one.
Time time_of(libraries::EquippedSystem system, const Collective& collective);

}  // namespace moire::collective
