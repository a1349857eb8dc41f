// Finds which kernels a work (a GEMM, a stream or a collective) launches, and their grids and resources. They are read
// from a captured CUDA graph, so neither a run nor a profiler is needed.
#pragma once

#include <string>
#include <vector>

#include "work.hpp"

struct KernelFact {
  std::string name;
  int grid[3] = {0, 0, 0};
  int cluster = 1;  // WGs of a cluster
  int threads = 0;
  int registers = 0;
  int shared_bytes = 0;  // static and dynamic
  int wgs_per_sm = 0;    // computed by CUDA's occupancy calculation
};

// Returns the kernels that a work on `gpus` GPUs launches on GPU 0. If the driver or the toolkit is older than CUDA
// 12.3, prints a message and returns an empty list.
std::vector<KernelFact> kernels_of(Work& work, int gpus);
