// The microbenchmarks that need a profile of what interprets MSCCL algorithms.
#pragma once

#include <vector>

#include "models/library/spec.hpp"
#include "models/microbench/microbench.hpp"

namespace moire::models::microbench {

// Lets those of `benchmarks` be simulated, if the library has channels.
void with_interpreter(const library::LibrarySpec& library, std::vector<Benchmark>& benchmarks);

}  // namespace moire::models::microbench
