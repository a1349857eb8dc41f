// Microbenchmarks of an interpreter of MSCCL algorithms. Their simulation needs the interpreter's profile.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// Adds simulations to the benchmarks of MSCCL in the list if the library has channels.
void with_interpreter(const libraries::LibrarySpec& library, std::vector<Benchmark>& benchmarks);

}  // namespace moire::microbench
