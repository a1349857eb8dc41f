// Microbenchmarks that depend on a collective library.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// all(), with a simulation for those benchmarks that need the library.
std::vector<Benchmark> with_library(const libraries::LibrarySpec& library);

}  // namespace moire::microbench
