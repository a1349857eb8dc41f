#include "models/hardware/fabric/topologies.hpp"

namespace moire::fabric {

OneHop::OneHop(const DirectSpec& spec, std::uint32_t endpoints, const nic::NicSpec& nic)
    : Ports(endpoints, nic, spec.link_latency, Time{}) {}

OneHop::OneHop(const StarSpec& spec, std::uint32_t endpoints, const nic::NicSpec& nic)
    : Ports(endpoints, nic, spec.link_latency + spec.switch_latency, spec.link_latency, spec.reduction) {}

void OneHop::route(core::EndpointId source, core::EndpointId destination, std::uint32_t,
                   std::vector<core::LinkId>& path) const {
  if (source < endpoints()) path.push_back(out(source));
  if (destination < endpoints()) path.push_back(in(destination));
}

}  // namespace moire::fabric
