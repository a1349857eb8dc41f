// libFuzzer: reads any bytes as a graph dump and as a topology dump of NCCL. A refused dump must have an error message.
// fuzz_nccl_topo also converts topology dumps into systems.
#include <cstdlib>
#include <string>

#include "app/import/nccl_graph.hpp"
#include "app/import/nccl_topology.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics of_graph;
  const auto graphs = importing::read_nccl_graphs("graph.xml", text, of_graph);
  require(graphs.has_value() == of_graph.ok());
  if (graphs) {
    for (const importing::Graph& graph : *graphs) require(!graph.name().empty());
  }
  config::Diagnostics of_topology;
  const auto topology = importing::read_nccl_topology("dump.xml", text, of_topology);
  require(topology.has_value() == of_topology.ok());
  if (topology) {
    require(topology->gpus.size() <= importing::most_gpus);
    for (const importing::TopologyGpu& gpu : topology->gpus) require(gpu.pci.raw_bandwidth() >= 0);
  }
  return 0;
}
