#include "models/hardware/machine/parts.hpp"

#include "models/hardware/cu/cus.hpp"
#include "models/hardware/dma/copies.hpp"
#include "models/hardware/fabric/networks.hpp"
#include "models/hardware/host/host.hpp"
#include "models/hardware/link/links.hpp"
#include "models/hardware/memory/memory.hpp"
#include "models/hardware/nic/nics.hpp"

namespace moire::machine {

namespace {

using part::BlameKind;
using part::Part;
using part::Site;
using program::Program;

bool always(const BlameKind&, const SystemSpec&, const Program&) { return true; }

bool has_nics(const SystemSpec& spec) { return spec.nodes > 1 || spec.node.nics > 0; }

std::unique_ptr<Part> make_networks(const SystemSpec& spec, Site& site, config::Problem& error) {
  std::unique_ptr<core::Topology> topology;
  if (spec.fabric && spec.node.nics > 0) {
    topology = fabric::make_topology(*spec.fabric, spec.nodes, spec.node.nics, *spec.node.nic, error);
    if (!topology) return nullptr;
  }
  return std::make_unique<fabric::Networks>(site, std::move(topology), spec.network.model == NetworkModel::flow,
                                            spec.network.chunk);
}

}  // namespace

const std::vector<RegisteredPart>& parts() {
  static const std::vector<RegisteredPart> registered = {
      {nic::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<nic::Nics>(site, spec.node.nics, spec.node.nic);
       },
       always, nullptr},
      {memory::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<memory::Memory>(site, spec.node.gpu.l2, spec.node.gpu.hbm);
       },
       always, nullptr},
      {link::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<link::Links>(site, spec.node.wiring, spec.node.gpu.port);
       },
       [](const BlameKind&, const SystemSpec& spec, const Program& program) {
         return link::shares(program, has_nics(spec));
       },
       nullptr},
      {fabric::declaration, make_networks, always, nullptr},
      {dma::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<dma::Copies>(site, spec.node.gpu.dma);
       },
       [](const BlameKind&, const SystemSpec&, const Program& program) { return dma::shares(program); }, nullptr},
      {cu::declaration,
       [](const SystemSpec& spec, Site& site, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<cu::Cus>(site, spec.node.gpu.compute);
       },
       [](const BlameKind& kind, const SystemSpec& spec, const Program& program) {
         return cu::shares(kind, spec.node.gpu.compute, program);
       },
       [](const Program& program, const SystemSpec& spec) {
         return cu::does_not_fit(program, spec.node.gpu.compute, spec.node.gpu.name);
       }},
      {host::declaration,
       [](const SystemSpec&, Site&, config::Problem&) -> std::unique_ptr<Part> {
         return std::make_unique<host::Host>();
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

std::optional<std::string_view> kind_that_stays_shared(const SystemSpec& spec) {
  if (spec.network.model == NetworkModel::flow && spec.fabric) return "links";  // SimGrid has one engine
  return std::nullopt;
}

}  // namespace moire::machine
