#include "models/hardware/nic/nics.hpp"

#include "sim/config/units.hpp"
#include "sim/core/invariant.hpp"

namespace moire::nic {

const part::Declaration& declaration() {
  static const part::Declaration declared{.name = "nic",
                                          .traffic = {{"puts", "NIC messages that workgroups or host proxies posted"},
                                                      {"put_bytes", "Payload of the puts"}},
                                          .follows = {{"nics", "gpus", 1, "the NICs per GPU stay the same"}},
                                          .felt_by_metrics = {"node.nic"},
                                          .timeline = {{program::SpanKind::put, "puts", "to rank"}}};
  return declared;
}

std::vector<part::Limit> limits(const NicSpec& spec) {
  if (spec.pcie_bandwidth < spec.wire_bandwidth())
    return {{"node.nic.bandwidth", "node.nic.pcie_bandwidth", config::format_quantity(spec.pcie_bandwidth)}};
  if (spec.wire_bandwidth() < spec.pcie_bandwidth)
    return {{"node.nic.pcie_bandwidth", "node.nic.bandwidth",
             config::format_quantity(spec.wire_bandwidth()) + " of payload"}};
  return {};
}

Nics::Nics(part::Site& site, std::int64_t nics_per_node, const std::optional<NicSpec>& spec)
    : site_(site), per_node_(static_cast<core::EndpointId>(nics_per_node)), spec_(spec) {}

void Nics::connect() {
  auto* networks = site_.find<part::Networks>();
  if (networks == nullptr || networks->networks() == 0 || !spec_) return;
  networks_ = networks;
  endpoints_ = networks->topology().endpoints() / site_.images();
  for (std::size_t n = 0; n < networks->networks(); ++n) {
    for (core::EndpointId endpoint = 0; endpoint < endpoints_; ++endpoint) {
      nics_.push_back(std::make_unique<Nic>(site_.loop().calendar(), networks->network(n), endpoint, *spec_));
    }
  }
}

std::vector<double> Nics::traffic(const part::Traffic& program) const {
  return {static_cast<double>(program.puts), program.put_bytes.value};
}

core::EndpointId Nics::endpoint_of(part::Rank rank) const {
  const part::Reach& reach = site_.reach();
  return reach.node_of(rank) * per_node_ + reach.gpu_of(rank) * per_node_ / reach.gpus_per_node();
}

// Returns the number of the queue pair that a put uses. For a put by a host thread, the number also depends on the two
// GPUs: a library opens queue pairs for each connection of two GPUs, also if several GPUs send through one NIC.
std::uint32_t Nics::queue_pair_of(const part::Put& put) const {
  const part::Reach& reach = site_.reach();
  if (!put.proxied) return put.queue_pair;
  return (put.queue_pair * reach.gpus_per_node() + reach.gpu_of(put.sender)) * reach.gpus_per_node() +
         reach.gpu_of(put.receiver);
}

Time Nics::put(const part::Put& put) {
  MOIRE_INVARIANT(!nics_.empty(), "a put on a machine without a network");
  const std::size_t of_queue = nics_.size() > endpoints_ ? put.queue * endpoints_ : 0;
  const core::EndpointId destination =
      put.summed ? networks_->sum_of(site_.reach().gpu_of(put.sender)) : endpoint_of(put.destination);
  return nics_[of_queue + endpoint_of(put.source)]->post({.destination = destination,
                                                          .queue_pair = queue_pair_of(put),
                                                          .bytes = put.bytes,
                                                          .issuer = put.proxied ? Issuer::proxy : Issuer::gpu,
                                                          .receiver = put.told,
                                                          .payload = put.payload,
                                                          .after = put.after});
}

}  // namespace moire::nic
