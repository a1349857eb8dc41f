// How evenly the results of a fused embedding use the links of a port.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/link/spec.hpp"

namespace moire::kernel {

// The output of a GPU is a matrix [own sample][table of all ranks][dim]. A rank stores the columns of its tables one
// after the other.
struct ResultColumns {
  std::int64_t vector_bytes = 0;  // of one table and sample
  std::int64_t tables = 0;        // of one rank
  std::int64_t ranks = 0;
  std::int64_t gpus = 0;        // ranks of a node
  std::int64_t turns = 1;       // destinations that get all their tables one after the other
  double tables_per_round = 0;  // tables for one destination that the first, second, ... tasks of all workgroups cover
  std::vector<std::int64_t> ports = {};  // of the GPU (cu::CuArraySpec)
  double progress_spread = 0;            // of its CUs
};

// Returns the mean link time of a stored byte, relative to contiguous bytes (link::StripedBytes). All workgroups begin
// with their first tasks. Full links serve the ports in turn, so workgroups that share a port with fewer CUs are ahead
// of the others in proportion (measured on an H200: 1.45 times as many tasks behind ports of 4 CUs as of 6). Behind
// ports of the same size, the times of tasks vary, so that what workgroups have done varies as a random walk does.
double mean_link_cost(const link::PortSpec& port, const ResultColumns& results);

}  // namespace moire::kernel
