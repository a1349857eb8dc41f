// The microbenchmarks of a collective library: those of the machine and what needs to know the library too.
#pragma once

#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::microbench {

// all(), in which the library's own benchmarks can be simulated.
std::vector<Benchmark> with_library(const libraries::LibrarySpec& library);

}  // namespace moire::microbench
