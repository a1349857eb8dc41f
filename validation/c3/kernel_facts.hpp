// Finds which kernels a work launches, and with which grid and resources. The facts are read from a captured graph, so
// neither a run nor a profiler is needed.
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

// The kernels on GPU 0 of a work on `gpus` GPUs. If the driver or the toolkit is older than CUDA 12.3, prints a message
// and returns nothing.
std::vector<KernelFact> kernels_of(Work& work, int gpus);
