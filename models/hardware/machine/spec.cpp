#include "models/hardware/machine/spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/spec.hpp"

namespace moire::machine {

void SpreadSpec::describe(config::Describer<SpreadSpec>& d) {
  d.component("spread",
              "How far GPUs of one type differ: half of the range of a rate over several GPUs, relative to the rate in "
              "the file.");
  d.field("matrix_clock", &SpreadSpec::matrix_clock, "Of compute.matrix_clock").range(0, 0.5).or_default();
  d.field("memory", &SpreadSpec::memory, "Of hbm.bandwidth").range(0, 0.5).or_default();
  d.field("links", &SpreadSpec::links, "Of port.link_bandwidth").range(0, 0.5).or_default();
}

void GpuSpec::describe(config::Describer<GpuSpec>& d) {
  d.component("gpu", "One GPU: a file in configs/hardware.");
  d.sourced();
  d.field("name", &GpuSpec::name, "Product name and form factor");
  d.field("compute", &GpuSpec::compute, "The compute units and their dispatcher");
  d.field("l2", &GpuSpec::l2, "L2 cache");
  d.field("memory_side_cache", &GpuSpec::memory_side_cache,
          "The cache on the memory side of L2 (Infinity Cache), if the GPU has one")
      .optional();
  d.field("hbm", &GpuSpec::hbm, "The device memory");
  d.field("dma", &GpuSpec::dma, "The copy engines");
  d.field("decompressor", &GpuSpec::decompressor, "The decompression engine; absent: the GPU has none").optional();
  d.field("port", &GpuSpec::port, "The scale-up port");
  d.field("host", &GpuSpec::host, "The costs of host and driver");
  d.field("power", &GpuSpec::power,
          "The power that the GPU draws and may draw; absent: unknown, and the clock does not depend on power");
  d.field("spread", &GpuSpec::spread,
          "How far GPUs of this type differ; absent: not measured. Scenarios with compare.spread use it")
      .optional();
  d.field_elsewhere("gemm", "gemm_library", "The GPU's library of matrix products: a file in configs/gemm")
      .or_default();
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
  slow.compute.matrix_clock = compute.matrix_clock;
  if (compute.load_path) {
    const Time longer = Time::from_seconds(compute.load_path->seconds() * (1 / share - 1));
    slow.l2.hit_latency = l2.hit_latency + longer;
    slow.hbm.unloaded_latency = hbm.unloaded_latency + longer;
  }
  return slow;
}

GpuSpec GpuSpec::at_end(bool fast) const {
  GpuSpec end = *this;
  const auto scale = [fast](auto& rate, double by) { rate = rate * (fast ? 1 + by : 1 - by); };
  if (compute.matrix_clock) {
    scale(*end.compute.matrix_clock, spread->matrix_clock);
    *end.compute.matrix_clock = std::min(*end.compute.matrix_clock, compute.clock);
  }
  scale(end.hbm.bandwidth, spread->memory);
  scale(end.port.link_bandwidth, spread->links);
  return end;
}

void SystemSpec::operate_at(double share) {
  operated_at = share;
  node.gpu = node.gpu.operated_at(share);
}

void NodeSpec::describe(config::Describer<NodeSpec>& d) {
  d.component("node", "One server: its GPUs, how they are connected, and the NICs that they share.");
  d.field("gpus", &NodeSpec::gpus, "Number of GPUs in a node").range(1, 72);
  d.field("gpu", &NodeSpec::gpu, "The GPU: a file in configs/hardware");
  d.field("wiring", &NodeSpec::wiring, "How the GPUs of a node are connected")
      .choices({{"none", link::Wiring::none},
                {"nvswitch", link::Wiring::nvswitch},
                {"full_mesh", link::Wiring::full_mesh},
                {"pcie", link::Wiring::pcie}});
  d.field("links_per_pair", &NodeSpec::links_per_pair,
          "With wiring full_mesh: links between every two GPUs. They are part of the GPUs and boards: if a node has "
          "fewer GPUs, the links to the missing GPUs stay unused")
      .range(1, 1024)
      .example("1")
      .optional();
  d.field("nics", &NodeSpec::nics, "Number of NICs in a node; GPU g uses NIC g x nics / gpus")
      .range(0, 72)
      .or_default();
  d.field("nic", &NodeSpec::nic, "The NIC: a file in configs/hardware").optional();
  d.field("host_memory", &NodeSpec::host_memory,
          "The host's memory: a file in configs/hardware; absent: unknown, and GPUs cannot copy through it")
      .optional();
  d.check([](const NodeSpec& s) -> std::optional<config::Problem> {
    if (s.nics > 0 && !s.nic)
      return config::Problem{"nics is set but nic is not", "write nic: ../hardware/<file>.yaml"};
    if (s.wiring == link::Wiring::none && s.gpus > 1 && s.nics > 0 && s.nics < s.gpus) {
      return config::Problem{"the GPUs of a node share a NIC, but cannot reach each other through it",
                             "set wiring or nics: " + std::to_string(s.gpus)};
    }
    if (s.nics > s.gpus)
      return config::Problem{"there are more nics than gpus", "write at most one NIC per GPU; more are not modelled"};
    if (s.wiring == link::Wiring::full_mesh && s.gpus > 1) {
      if (!s.links_per_pair)
        return config::Problem{"links_per_pair is missing, which a full mesh needs",
                               "write links_per_pair: 1, the number of links between every two GPUs"};
      const std::int64_t needs = (s.gpus - 1) * *s.links_per_pair;
      if (s.gpu.port.links < needs) {
        return config::Problem{
            fmt::format("a full mesh of {} GPUs with {} between every two needs {} links per GPU, but the port has {}",
                        s.gpus, *s.links_per_pair == 1 ? "a link" : fmt::format("{} links", *s.links_per_pair), needs,
                        s.gpu.port.links),
            "use fewer GPUs or a smaller links_per_pair"};
      }
    }
    return std::nullopt;
  });
}

void NetworkSpec::describe(config::Describer<NetworkSpec>& d) {
  d.component("network", "How the scale-out network is modelled.");
  d.field("model", &NetworkSpec::model,
          "queue: every port serves chunks in order of arrival (fast); flow: max-min fair flows of SimGrid")
      .choices({{"queue", NetworkModel::queue}, {"flow", NetworkModel::flow}})
      .or_default();
  d.field("chunk", &NetworkSpec::chunk,
          "Bytes that a port serves before it turns to the next flow (model queue); absent: 16 KiB, and less where "
          "less than 4 MiB waits at the port, down to a packet of 4 KiB")
      .positive()
      .optional();
}

void SystemSpec::describe(config::Describer<SystemSpec>& d) {
  d.component("system", "A machine: equal nodes and the fabric between them. A file in configs/systems.");
  d.field("description", &SystemSpec::description, "What the machine is");
  d.field("nodes", &SystemSpec::nodes, "Number of nodes").range(1, 65536);
  d.field("node", &SystemSpec::node, "The node, of which all nodes are copies");
  d.field("fabric", &SystemSpec::fabric, "Scale-out network; required with more than one node").optional();
  d.field("network", &SystemSpec::network, "How the scale-out network is modelled").or_default();
  d.field("operating_point", &SystemSpec::operating_point,
          "The clock at which programs run if their scenario sets none: burst, sustained, {clock: ...} or {power_cap: "
          "...}. Absent: burst")
      .example("sustained")
      .optional();
  d.field_elsewhere("library", "library",
                    "The collective library of operators that name none: a file in configs/libraries")
      .optional();
  d.check([](const SystemSpec& s) -> std::optional<config::Problem> {
    if (s.nodes > 1 && !s.fabric)
      return config::Problem{"there is more than one node but no fabric", "write fabric: {direct: {}} or another kind"};
    if (s.nodes > 1 && s.node.nics == 0)
      return config::Problem{"there is more than one node but no NIC", "write node.nics and node.nic"};
    const auto per_packet = [](const auto& kind) { return kind && kind->routing == fabric::Routing::per_packet; };
    if (s.fabric && s.network.model == NetworkModel::flow &&
        (per_packet(s.fabric->fat_tree) || per_packet(s.fabric->rail_fat_tree)))
      return config::Problem{
          "flows of SimGrid have one route, so that packets cannot take several (routing: per_packet)",
          "write routing: adaptive or static, or network: {model: queue}"};
    if (s.node.gpus > 1 && s.node.wiring == link::Wiring::none && s.node.nics == 0) {
      return config::Problem{"the node has several GPUs, but with wiring none and no NIC they cannot reach each other",
                             "set wiring or nics"};
    }
    if (s.node.gpus > 1 && s.node.wiring == link::Wiring::none && !s.fabric) {
      return config::Problem{"GPUs with wiring none communicate through their NICs, but there is no fabric",
                             "write fabric: {star: {switch_latency: ...}}"};
    }
    return std::nullopt;
  });
}

}  // namespace moire::machine
