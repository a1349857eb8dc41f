// Computes the time of a collective that runs alone on the machine. Microbenchmarks measure this time, and a library's
// profile is fitted to it.
#pragma once

#include "models/workload/collective/collective.hpp"

namespace moire::collective {

// Returns a program that consists of the collective alone.
program::Program alone(const libraries::EquippedSystem& system, const Collective& collective);

// For a kernel, returns the time from the start of the first workgroup to the end of the last one over all ranks,
// without the launch. For DMA copies, returns the time from the start of the first operation to the end of the last
// one. Returns Time::max() if the machine cannot be built; the check of the system reports the reason.
Time time_of(libraries::EquippedSystem system, const Collective& collective);

}  // namespace moire::collective
