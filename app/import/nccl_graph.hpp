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
  double speed_intra = 0;  // GB/s per channel
  std::string type_intra;  // worst path within the node, as NCCL names it: LOC NVL NVB C2C PIX PXB PXN PHB SYS
  std::size_t gpus = 0;    // on each channel; 0 without channels
  config::Place place;

  std::string name() const;  // "ring"
};

// Returns nothing and reports all errors if the text is not a graph dump.
std::optional<std::vector<Graph>> read_nccl_graphs(const std::string& name, const std::string& text,
                                                   config::Diagnostics& diagnostics);

}  // namespace moire::importing
