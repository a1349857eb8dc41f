// Counts the bytes that a GEMM loads from memory: every operand is loaded once, and again if the cache has evicted it
// before its next use.
#pragma once

#include <cstdint>

#include "models/workload/kernel/gemm_kernel.hpp"

namespace moire::kernel {

struct Traffic {
  double requested = 0;  // bytes that all workgroups request from the L2
  double loaded = 0;     // bytes that the L2 loads from memory
};

// Returns the traffic of a GEMM of which `resident` workgroups run at the same time. The rows of C are computed in
// `blocks` blocks, one after the other, and each block needs all of B. `drift_waves`: number of waves in which
// workgroups fall further and further behind; 0 if a counter hands out the tiles.
Traffic gemm_traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident, std::int64_t blocks,
                     double drift_waves, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library);

}  // namespace moire::kernel
