// The microbenchmarks of a collective library: those of the machine and what needs to know the library too.
#pragma once

#include <vector>

#include "models/library/spec.hpp"
#include "models/microbench/microbench.hpp"

namespace moire::models::microbench {

// all(), in which the library's own benchmarks can be simulated.
std::vector<Benchmark> with_library(const library::LibrarySpec& library);

}  // namespace moire::models::microbench
