// The time of a collective that has the machine to itself, which is what microbenchmarks measure and what a library's
// profile is fitted to.
#pragma once

#include "models/workload/collective/collective.hpp"

namespace moire::collective {

// A program that consists of the collective alone.
program::Program alone(const libraries::EquippedSystem& system, const Collective& collective);

// Kernels: from the start of the first workgroup to the end of the last one over all ranks, without the launch. DMA
// copies: from the start of the first operation to the end of the last one. Time::max() if no such machine can be
// built, which the check of the system reports.
Time time_of(libraries::EquippedSystem system, const Collective& collective);

}  // namespace moire::collective
