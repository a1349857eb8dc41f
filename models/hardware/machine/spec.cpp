#include "models/hardware/machine/spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/spec.hpp"

namespace moire::machine {

void GpuSpec::describe(config::Describer<GpuSpec>& d) {
  d.component("gpu", "One GPU: a file of configs/hardware.");
  d.sourced();
  d.field("name", &GpuSpec::name, "Product name and form");
  d.field("compute", &GpuSpec::compute, "Compute units and their dispatcher");
  d.field("l2", &GpuSpec::l2, "L2 cache");
  d.field("memory_side_cache", &GpuSpec::memory_side_cache,
          "Cache on the memory side of L2 (Infinity Cache), where there is one")
      .optional();
  d.field("hbm", &GpuSpec::hbm, "Device memory");
  d.field("dma", &GpuSpec::dma, "Copy engines");
  d.field("port", &GpuSpec::port, "Scale-up port");
  d.field("host", &GpuSpec::host, "Host and driver costs");
  d.field("power", &GpuSpec::power, "What it draws and may draw; absent: not known, and no clock follows from it");
  d.field_elsewhere("gemm", "gemm_library", "Its library of matrix products: a file of configs/gemm").or_default();
}

GpuSpec GpuSpec::at_clock(double share) const {
  GpuSpec slow = *this;
  slow.compute = compute.at_clock(share);
  slow.l2 = l2.at_clock(share);
  return slow;
}

GpuSpec GpuSpec::operated_at(double share) const {
  if (share == 1) return *this;
  GpuSpec slow = at_clock(share);
  if (compute.matrix_clock) slow.compute.matrix_clock = std::min(*compute.matrix_clock, slow.compute.clock);
  return slow;
}

void SystemSpec::operate_at(double share) {
  operated_at = share;
  node.gpu = node.gpu.operated_at(share);
}

void NodeSpec::describe(config::Describer<NodeSpec>& d) {
  d.component("node", "One server: GPUs, how they are wired, and the NICs they share.");
  d.field("gpus", &NodeSpec::gpus, "GPUs of a node").range(1, 72);
  d.field("gpu", &NodeSpec::gpu, "The GPU: a file of configs/hardware");
  d.field("wiring", &NodeSpec::wiring, "How the GPUs of a node reach each other")
      .choices({{"none", link::Wiring::none},
                {"nvswitch", link::Wiring::nvswitch},
                {"full_mesh", link::Wiring::full_mesh},
                {"pcie", link::Wiring::pcie}});
  d.field(
       "links_per_pair", &NodeSpec::links_per_pair,
       "Of a full mesh: links between every two GPUs. They are there or not whatever else is in the node: with fewer "
       "GPUs the links to those taken away have nobody at their other end")
      .range(1, 1024)
      .example("1")
      .optional();
  d.field("nics", &NodeSpec::nics, "NICs of a node; GPU g uses NIC g x nics / gpus").range(0, 72).or_default();
  d.field("nic", &NodeSpec::nic, "The NIC: a file of configs/hardware").optional();
  d.check([](const NodeSpec& s) -> std::optional<config::Problem> {
    if (s.nics > 0 && !s.nic)
      return config::Problem{"nics is set but nic is not", "write nic: ../hardware/<file>.yaml"};
    if (s.wiring == link::Wiring::none && s.gpus > 1 && s.nics > 0 && s.nics < s.gpus) {
      return config::Problem{"GPUs of a node that share a NIC cannot reach each other through it",
                             "set wiring or nics: " + std::to_string(s.gpus)};
    }
    if (s.nics > s.gpus) return config::Problem{"more nics than gpus", "at most one NIC per GPU is modelled"};
    if (s.wiring == link::Wiring::full_mesh && s.gpus > 1) {
      if (!s.links_per_pair)
        return config::Problem{"a full mesh without links_per_pair",
                               "write links_per_pair: 1, the links between every two GPUs"};
      const std::int64_t needs = (s.gpus - 1) * *s.links_per_pair;
      if (s.gpu.port.links < needs) {
        return config::Problem{
            fmt::format("a full mesh of {} GPUs with {} between every two needs {} links per GPU, the "
                        "port has {}",
                        s.gpus, *s.links_per_pair == 1 ? "a link" : fmt::format("{} links", *s.links_per_pair), needs,
                        s.gpu.port.links),
            "take fewer GPUs or links_per_pair"};
      }
    }
    return std::nullopt;
  });
}

void NetworkSpec::describe(config::Describer<NetworkSpec>& d) {
  d.component("network", "How the scale-out network is served.");
  d.field("model", &NetworkSpec::model, "queue: chunks FIFO at every port (fast); flow: SimGrid max-min flows")
      .choices({{"queue", NetworkModel::queue}, {"flow", NetworkModel::flow}})
      .or_default();
  d.field("chunk", &NetworkSpec::chunk, "Bytes a port serves before the next flow's turn (queue)")
      .positive()
      .or_default();
}

void SystemSpec::describe(config::Describer<SystemSpec>& d) {
  d.component("system", "A machine: equal nodes and the fabric between them. A file of configs/systems.");
  d.field("description", &SystemSpec::description, "What the machine is");
  d.field("nodes", &SystemSpec::nodes, "Number of nodes").range(1, 65536);
  d.field("node", &SystemSpec::node, "One node");
  d.field("fabric", &SystemSpec::fabric, "Scale-out network; required with more than one node").optional();
  d.field("network", &SystemSpec::network, "How the scale-out network is served").or_default();
  d.field("operating_point", &SystemSpec::operating_point,
          "At what clock programs run whose scenario says nothing of it: burst, sustained, {clock: ...} or {power_cap: "
          "...}. Absent: burst")
      .example("sustained")
      .optional();
  d.field_elsewhere("library", "library", "Collective library of operators that name none: a file of configs/libraries")
      .optional();
  d.check([](const SystemSpec& s) -> std::optional<config::Problem> {
    if (s.nodes > 1 && !s.fabric)
      return config::Problem{"more than one node but no fabric", "write fabric: {direct: {}} or another kind"};
    if (s.nodes > 1 && s.node.nics == 0)
      return config::Problem{"more than one node but no NIC", "write node.nics and node.nic"};
    if (s.node.gpus > 1 && s.node.wiring == link::Wiring::none && s.node.nics == 0) {
      return config::Problem{"several GPUs in a node with wiring none and no NIC cannot reach each other",
                             "set wiring or nics"};
    }
    if (s.node.gpus > 1 && s.node.wiring == link::Wiring::none && !s.fabric) {
      return config::Problem{"GPUs with wiring none talk through their NICs, but there is no fabric",
                             "write fabric: {star: {switch_latency: ...}}"};
    }
    return std::nullopt;
  });
}

}  // namespace moire::machine
