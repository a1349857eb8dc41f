#include "models/hardware/machine/parts.hpp"

#include "models/hardware/cu/cus.hpp"
#include "models/hardware/decompressor/decompressors.hpp"
#include "models/hardware/dma/copies.hpp"
#include "models/hardware/fabric/networks.hpp"
#include "models/hardware/host/host.hpp"
#include "models/hardware/link/links.hpp"
#include "models/hardware/memory/memory.hpp"
#include "models/hardware/nic/nics.hpp"
#include "models/hardware/power/power.hpp"

namespace moire::machine {

namespace {

using part::BlameKind;
using part::Part;
using part::Site;
using program::Program;

bool always(const BlameKind&, const SystemSpec&, const Program&) { return true; }

bool has_nics(const SystemSpec& spec) { return spec.nodes > 1 || spec.node.nics > 0; }

std::optional<dma::Copies::HostEngines> host_engines(const NodeSpec& node) {
  if (!node.host_memory) return std::nullopt;
  dma::DmaSpec one = node.gpu.dma;
  one.engines = one.peer_concurrency = 1;
  // The times of DmaSpec include those of two events.
  one.switch_command = node.host_memory->switch_command + node.gpu.host.event_pair;
  return dma::Copies::HostEngines{one, node.host_memory->busy_command};
}

// What the clocks depend on besides the CUs. A byte over a link passes the L2. The powers are 0 if the energies or the
// clock of matrix arithmetic are not known.
cu::PhaseRunner::Operation operation_of(const SystemSpec& spec) {
  const GpuSpec& gpu = spec.node.gpu;
  cu::PhaseRunner::Operation operation{.slowed = spec.operated_at.value_or(1) < 1, .repeated = spec.repeated};
  if (!gpu.power || !gpu.compute.matrix_clock) return operation;
  const double share = *gpu.compute.matrix_clock / gpu.compute.clock;
  const double flop = gpu.compute.matrix_16bit.value * gpu.compute.matrix_efficiency * share;  // per second
  // Watts at the voltage of the file's clock. With the voltage of matrix_clock, a GPU built with a higher clock but the
  // same matrix_clock would be slower beside the same traffic.
  const double of_cu = gpu.power->matrix_flop.value * flop / static_cast<double>(gpu.compute.total_cus());
  const double weight = gpu.compute.traffic_weight / of_cu;
  operation.memory_byte = weight * gpu.power->hbm_read_byte.value;
  operation.link_byte = weight * gpu.port.payload_efficiency * (gpu.power->link_byte.value + gpu.power->l2_byte.value);
  return operation;
}

std::unique_ptr<Part> make_networks(const SystemSpec& spec, Site& site, config::Problem& error) {
  std::unique_ptr<fabric::Fabric> topology;
  if (spec.fabric && spec.node.nics > 0) {
    topology = fabric::make_topology(*spec.fabric, spec.nodes, spec.node.nics, *spec.node.nic, error, site.uneven());
    if (!topology) return nullptr;
  }
  core::QueueNetworkSpec queues;
  if (spec.network.chunk) queues.chunk = queues.packet = *spec.network.chunk;
  return std::make_unique<fabric::Networks>(site, std::move(topology), spec.network.model == NetworkModel::flow,
                                            queues);
}

}  // namespace

std::int64_t links_in_use(const NodeSpec& node) {
  return link::links_in_use(node.wiring, node.links_per_pair.value_or(0), node.gpus, node.gpu.port);
}

const std::vector<RegisteredPart>& parts() {
  static const std::vector<RegisteredPart> registered = {
      {nic::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<nic::Nics>(site, spec.node.nics, spec.node.nic);
       },
       always, nullptr,
       [](const SystemSpec& spec, const Program&) {
         return spec.node.nic ? nic::limits(*spec.node.nic) : std::vector<part::Limit>{};
       }},
      {memory::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<memory::Memory>(site, spec.node.gpu.l2, spec.node.gpu.hbm);
       },
       always, nullptr,
       [](const SystemSpec& spec, const Program&) { return memory::limits(spec.node.gpu.l2, spec.node.gpu.hbm); }},
      {link::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<link::Links>(site, spec.node.wiring, spec.node.links_per_pair.value_or(0),
                                              spec.node.gpu.port);
       },
       [](const BlameKind&, const SystemSpec& spec, const Program& program) {
         return link::shares(program, has_nics(spec));
       },
       nullptr,
       [](const SystemSpec& spec, const Program&) {
         const GpuSpec& gpu = spec.node.gpu;
         return link::limits(gpu.port, links_in_use(spec.node), gpu.hbm.bandwidth, gpu.compute.total_cus());
       }},
      {fabric::declaration, make_networks, always, nullptr,
       [](const SystemSpec& spec, const Program&) {
         const bool there = spec.fabric && spec.node.nic;
         return there ? fabric::limits(*spec.fabric, spec.nodes, *spec.node.nic) : std::vector<part::Limit>{};
       }},
      {dma::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<dma::Copies>(site, spec.node.gpu.dma, host_engines(spec.node));
       },
       [](const BlameKind&, const SystemSpec&, const Program& program) { return dma::shares(program); }, nullptr,
       [](const SystemSpec& spec, const Program& program) {
         const GpuSpec& gpu = spec.node.gpu;
         const BytesPerSecond link =
             gpu.port.link_bandwidth * gpu.port.copy_efficiency.value_or(gpu.port.payload_efficiency);
         const auto in_use = static_cast<double>(links_in_use(spec.node));
         const bool mesh = spec.node.wiring == link::Wiring::full_mesh;
         const double to_a_peer = mesh ? static_cast<double>(spec.node.links_per_pair.value_or(0)) : in_use;
         return dma::limits(gpu.dma, link * in_use, link * to_a_peer, program);
       }},
      {decompressor::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<decompressor::Decompressors>(site, spec.node.gpu.decompressor);
       },
       always, nullptr},
      {cu::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<cu::Cus>(site, spec.node.gpu.compute, operation_of(spec));
       },
       [](const BlameKind& kind, const SystemSpec& spec, const Program& program) {
         return cu::shares(kind, spec.node.gpu.compute, program);
       },
       [](const Program& program, const SystemSpec& spec) {
         return cu::does_not_fit(program, spec.node.gpu.compute, spec.node.gpu.name);
       },
       [](const SystemSpec& spec, const Program&) {
         return cu::limits(spec.node.gpu.compute, spec.node.gpu.hbm.bandwidth, spec.node.gpu.hbm.unloaded_latency);
       }},
      {host::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<host::Host>(site, spec.node.host_memory);
       },
       always, nullptr},
      {power::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         const GpuSpec& gpu = spec.node.gpu;
         if (!spec.operated_at || !gpu.power) return std::make_unique<power::Unmetered>();
         return std::make_unique<power::Power>(site, *gpu.power, gpu.compute.clock / *spec.operated_at,
                                               *spec.operated_at);
       },
       always, nullptr},
  };
  return registered;
}

std::vector<part::TimelineSection> timeline_sections() {
  std::vector<part::TimelineSection> sections;
  for (auto part = parts().rbegin(); part != parts().rend(); ++part) {
    const auto& declared = part->declaration().timeline;
    sections.insert(sections.end(), declared.begin(), declared.end());
  }
  return sections;
}

std::optional<config::Problem> does_not_fit(const Program& program, const SystemSpec& spec) {
  for (const RegisteredPart& part : parts()) {
    if (part.refuses == nullptr) continue;
    if (auto problem = part.refuses(program, spec)) return problem;
  }
  return std::nullopt;
}

std::vector<part::Limit> limits(const SystemSpec& spec, const Program& program) {
  std::vector<part::Limit> all;
  for (const RegisteredPart& part : parts()) {
    if (part.limits == nullptr) continue;
    std::vector<part::Limit> own = part.limits(spec, program);
    all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  return all;
}

std::optional<std::string_view> kind_that_stays_shared(const SystemSpec& spec) {
  if (spec.network.model == NetworkModel::flow && spec.fabric) return "links";  // SimGrid has one engine per process
  return std::nullopt;
}

}  // namespace moire::machine
