// Reads a graph dump of NCCL (NCCL_GRAPH_DUMP_FILE): the channels that NCCL found for each kind of algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

struct Graph {
  std::int64_t id = 0;  // 0 ring, 1 tree, 2 collnet chain, 3 NVLS, 4 collnet direct
  std::int64_t channels = 0;
  double speed_intra = 0;  // GB/s per channel within the node
  std::string type_intra;  // slowest kind of path within the node: LOC NVL NVB C2C PIX PXB PXN PHB SYS, as in NCCL
  std::size_t gpus = 0;    // number of GPUs on each channel; 0 without channels
  config::Place place;

  std::string name() const;  // returns the name of `id`, such as "ring"
};

// Returns the graphs of a dump. If the text is not a graph dump, reports all errors and returns nothing.
std::optional<std::vector<Graph>> read_nccl_graphs(const std::string& name, const std::string& text,
                                                   config::Diagnostics& diagnostics);

}  // namespace moire::importing
