// How evenly the results of a fused embedding use the links of a port.
#pragma once

#include <cstdint>

#include "models/hardware/link/spec.hpp"

namespace moire::kernel {

// The output of a GPU is a matrix [own sample][table of all ranks][dim]. A rank stores the columns of its tables one
// after the other.
struct ResultColumns {
  std::int64_t vector_bytes = 0;  // of one table and sample
  std::int64_t tables = 0;        // of one rank
  std::int64_t ranks = 0;
  std::int64_t gpus = 0;        // ranks of a node
  double tables_per_round = 0;  // tables for one destination that the first, second, ... tasks of all workgroups cover
  double progress_spread = 0;   // of the CUs (cu::CuArraySpec)
};

// Returns the mean link time of a stored byte, relative to contiguous bytes (link::StripedBytes). All workgroups begin
// with their first tasks, and those that are faster are further ahead the longer the kernel runs.
double mean_link_cost(const link::PortSpec& port, const ResultColumns& results);

}  // namespace moire::kernel
