// Microbenchmarks that depend on a collective library.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// Returns all benchmarks. Those that depend on a collective library are simulated with `library`.
std::vector<Benchmark> with_library(const libraries::LibrarySpec& library);

}  // namespace moire::microbench
