// What a GEMM loads out of the memory: every operand once, and again what the cache has lost by the time it is needed
// again.
#pragma once

#include <cstdint>

#include "models/workload/kernel/gemm_kernel.hpp"

namespace moire::kernel {

struct Traffic {
  double requested = 0;  // bytes out of the L2, by all workgroups
  double loaded = 0;     // bytes out of the memory
};

// With `resident` workgroups on the GPU at once.
Traffic gemm_traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident,
                     const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library);

}  // namespace moire::kernel
