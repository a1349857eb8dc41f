// Microbenchmarks of an interpreter of MSCCL algorithms; they need its profile.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// Adds simulations to these benchmarks if the library has channels.
void with_interpreter(const libraries::LibrarySpec& library, std::vector<Benchmark>& benchmarks);

}  // namespace moire::microbench
