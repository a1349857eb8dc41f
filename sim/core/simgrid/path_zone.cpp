#include "sim/core/simgrid/path_zone.hpp"

#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u/Host.hpp>

namespace moire::core::flow {

namespace {
// The latency that SimGrid sees on every route. SimGrid weights a flow by 1 / route latency, so an equal latency on all
// routes makes shares equal. The value is a power of two, so that start_latency / nominal_latency is exact. It is large
// enough for the precision of SimGrid's solver.
constexpr double nominal_latency = 0x1p-20;  // s
// The time that a communication really waits before it takes bandwidth. With a time of zero, SimGrid would give the
// communication another weight.
constexpr double start_latency = 1e-12;  // s
}  // namespace

PathZone::PathZone(const Topology& topology) : NetZoneImpl("fabric") {
  hosts_.reserve(topology.endpoints());
  for (EndpointId endpoint = 0; endpoint < topology.endpoints(); ++endpoint) {
    hosts_.push_back(create_host("e" + std::to_string(endpoint), std::vector<double>{1e9}));
    hosts_.back()->seal();
  }
  for (const NetworkLink& link : topology.links()) {
    // Links are named by numbers, because SimGrid requires unique names.
    auto* made = create_link("l" + std::to_string(links_.size()), std::vector<double>{link.bandwidth.value});
    made->seal();
    links_.push_back(made->get_impl());
  }
  get_iface()->get_network_model()->set_lat_factor_cb(
      [](double, const auto*, const auto*, const auto&, const auto&) { return start_latency / nominal_latency; });
  get_iface()->seal();
}

void PathZone::get_local_route(const simgrid::kernel::routing::NetPoint*, const simgrid::kernel::routing::NetPoint*,
                               simgrid::kernel::routing::Route* route, double* latency) {
  for (const LinkId link : *path_) route->link_list_.push_back(links_[link]);
  if (latency != nullptr) *latency += nominal_latency;
}

}  // namespace moire::core::flow
