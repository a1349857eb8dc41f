#include "models/hardware/fabric/networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/units.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/simgrid/flow_network.hpp"

namespace moire::fabric {

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "fabric",
      .traffic = {{"network_bytes", "Payload that the scale-out network delivered"}},
      .occupied = {{"network_busy_percent", "Time that the busiest network link was in use, over the time of the run"}},
      .felt_by_metrics = {"fabric", "network"}};
  return declared;
}

namespace {

void add_oversubscribed(const TwoLevelSpec& spec, const std::string& kind, std::int64_t nodes, const nic::NicSpec& nic,
                        std::vector<part::Limit>& limits) {
  if (nodes <= spec.nodes_per_leaf || spec.oversubscription <= 1) return;
  limits.push_back({"node.nic.bandwidth", "fabric." + kind + ".oversubscription",
                    fmt::format("{:.4g}: {} per NIC between leaves if all NICs send", spec.oversubscription,
                                config::format_quantity(nic.payload_bandwidth() * (1 / spec.oversubscription)))});
}

}  // namespace

std::vector<part::Limit> limits(const FabricSpec& spec, std::int64_t nodes, const nic::NicSpec& nic) {
  std::vector<part::Limit> all;
  if (spec.fat_tree) add_oversubscribed(*spec.fat_tree, "fat_tree", nodes, nic, all);
  if (spec.rail_fat_tree) add_oversubscribed(*spec.rail_fat_tree, "rail_fat_tree", nodes, nic, all);
  if (spec.torus) {
    const BytesPerSecond link = spec.torus->link.bandwidth * nic.payload_efficiency;
    if (link < nic.payload_bandwidth()) {
      all.push_back({"node.nic.bandwidth", "fabric.torus.link.bandwidth",
                     config::format_quantity(link) + " of payload to each neighbour"});
    }
  }
  if (spec.dragonfly) {
    const DragonflySpec& d = *spec.dragonfly;
    const auto payload = [&nic](const DragonflyLinkSpec& link) { return link.bandwidth * nic.payload_efficiency; };
    if (payload(d.local_link) < nic.payload_bandwidth()) {
      all.push_back({"node.nic.bandwidth", "fabric.dragonfly.local_link.bandwidth",
                     config::format_quantity(payload(d.local_link)) + " of payload between routers of a group"});
    }
    if (payload(d.global_link) < nic.payload_bandwidth()) {
      all.push_back({"node.nic.bandwidth", "fabric.dragonfly.global_link.bandwidth",
                     config::format_quantity(payload(d.global_link)) + " of payload on a link between groups"});
    }
  }
  return all;
}

Networks::Networks(part::Site& site, std::unique_ptr<Fabric> topology, bool flow, core::QueueNetworkSpec queues)
    : site_(site), topology_(std::move(topology)), flow_(flow) {
  if (!topology_) return;
  if (flow) {
    networks_.push_back(std::make_unique<core::flow::FlowNetwork>(site.loop(), *topology_));
    return;
  }
  // A port must serve a piece of a sum in one turn (sums.hpp), even if nothing else waits there.
  if (topology_->reduction() != nullptr) queues.packet = queues.chunk;
  for (std::uint32_t copy = 0; copy < site.copies("links"); ++copy) {
    auto queue =
        std::make_unique<core::QueueNetwork>(site.loop(), *topology_, queues, topology_->endpoints() / site.images());
    queues_.push_back(queue.get());
    networks_.push_back(std::move(queue));
    if (topology_->reduction() == nullptr) continue;
    auto sums = std::make_unique<Sums>(site.loop().calendar(), *topology_, std::move(networks_.back()), queues.chunk,
                                       site.images());
    sums_.push_back(sums.get());
    networks_.back() = std::move(sums);
  }
}

// Forms the groups for sums in switches: the GPUs with the same index in their nodes are one group.
void Networks::connect() {
  if (sums_.empty()) return;
  const auto& puts = *site_.find<part::Puts>();
  const part::Rank gpus = site_.reach().gpus_per_node(), ranks = site_.ranks() * site_.images();
  for (part::Rank gpu = 0; gpu < gpus; ++gpu) {
    std::vector<core::EndpointId> members;
    for (part::Rank rank = gpu; rank < ranks; rank += gpus) members.push_back(puts.endpoint_of(rank));
    for (Sums* sums : sums_) sums->add_group(members);
  }
}

std::vector<double> Networks::traffic(const part::Traffic&) const {
  return {networks_.empty() ? 0 : networks_.front()->delivered().value * site_.images()};
}

std::vector<double> Networks::occupied(Time end) const {
  double most = 0;
  if (networks_.empty()) return {most};
  for (const core::LinkUse& link : networks_.front()->use()) {
    most = std::max(most, static_cast<double>(link.busy.ps) / static_cast<double>(end.ps));
  }
  return {most};
}

void Networks::check_conservation() const {
  // Messages may have fractions of bytes, so both totals have rounding errors, relative to their size.
  constexpr double rounding = 1e-9;
  for (const auto& network : networks_) {
    const double injected = network->injected().value;
    MOIRE_INVARIANT(std::abs(injected - network->delivered().value) <= rounding * injected, "the network lost bytes");
  }
}

void Networks::set_circle(const core::Circle& of_ranks) {
  for (core::QueueNetwork* queues : queues_) queues->set_circle(of_ranks.scaled(topology_->endpoints()));
}

bool Networks::run() {
  if (!flow_ || networks_.empty()) return false;
  core::flow::run_with_simgrid(site_.loop(), static_cast<core::flow::FlowNetwork&>(*networks_.front()));
  return true;
}

}  // namespace moire::fabric
