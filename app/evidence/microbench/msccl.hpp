// The microbenchmarks that need a profile of what interprets MSCCL algorithms.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// Lets those of `benchmarks` be simulated, if the library has channels.
void with_interpreter(const libraries::LibrarySpec& library, std::vector<Benchmark>& benchmarks);

}  // namespace moire::microbench
