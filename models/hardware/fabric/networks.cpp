#include "models/hardware/fabric/networks.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/invariant.hpp"
#include "sim/core/queue_network.hpp"
#include "sim/core/simgrid/flow_network.hpp"

namespace moire::fabric {

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "fabric",
      .traffic = {{"network_bytes", "Payload the scale-out network delivered"}},
      .occupied = {{"network_busy_percent", "The same of the network link that is used most"}}};
  return declared;
}

Networks::Networks(part::Site& site, std::unique_ptr<core::Topology> topology, bool flow, Bytes chunk)
    : site_(site), topology_(std::move(topology)), flow_(flow) {
  if (!topology_) return;
  if (flow) {
    networks_.push_back(std::make_unique<core::flow::FlowNetwork>(site.loop(), *topology_));
    return;
  }
  for (std::uint32_t copy = 0; copy < site.copies("links"); ++copy) {
    networks_.push_back(std::make_unique<core::QueueNetwork>(site.loop().calendar(), *topology_,
                                                             core::QueueNetworkSpec{.chunk = chunk}));
  }
}

std::vector<double> Networks::traffic(const part::Traffic&) const {
  return {networks_.empty() ? 0 : networks_.front()->delivered().value};
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
  // Shares of messages need not be whole bytes, and their sums are rounded.
  constexpr double rounding = 1e-9;
  for (const auto& network : networks_) {
    const double injected = network->injected().value;
    MOIRE_INVARIANT(std::abs(injected - network->delivered().value) <= rounding * injected, "the network lost bytes");
  }
}

bool Networks::run() {
  if (!flow_ || networks_.empty()) return false;
  core::flow::run_with_simgrid(site_.loop(), static_cast<core::flow::FlowNetwork&>(*networks_.front()));
  return true;
}

}  // namespace moire::fabric
