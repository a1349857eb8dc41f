// Microbenchmarks of an interpreter of MSCCL algorithms. Their simulation needs the interpreter's profile, which is a
// library's profile.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// Adds a simulation to each MSCCL benchmark in `benchmarks`. Does nothing if the library has no channels.
void with_interpreter(const libraries::LibrarySpec& library, std::vector<Benchmark>& benchmarks);

}  // namespace moire::microbench
