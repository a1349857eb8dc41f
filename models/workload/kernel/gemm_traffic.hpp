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

// How far the workgroups of a kernel whose tiles are fixed in advance get out of step.
struct OutOfStep {
  double waves = 0;  // in which workgroups of slower CUs fall further and further behind; 0: a counter hands out tiles
  // Those whose stores find the links idle get ahead of the others, in every wave whose tiles leave for other GPUs but
  // the first ones. Times are multiples of the time of a tile.
  double leaving = 0;   // waves whose tiles leave; the others come after them
  double first = 0;     // of these, until workgroups begin to get apart
  double per_wave = 0;  // how much further apart they get in each wave
  double most = 0;      // how far apart they get in the end
  double reload = 0;    // share of the shared bytes that they load again if the cache holds nothing of their panels
};

// Returns the traffic of a GEMM of which `resident` workgroups run at the same time. The rows of C are computed in
// `blocks` blocks, one after the other, and each block needs all of B.
Traffic gemm_traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident, std::int64_t blocks,
                     const OutOfStep& out_of_step, const machine::GpuSpec& gpu,
                     const libraries::GemmLibrarySpec& library);

}  // namespace moire::kernel
