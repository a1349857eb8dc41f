// A SimGrid zone with the endpoints and links of a Topology. It answers every route query with the path that was set
// last, so that only the topology decides on routes. This header is private to its folder, because it includes SimGrid
// headers.
#pragma once

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <vector>

#include "sim/core/network.hpp"

namespace moire::core::flow {

class PathZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit PathZone(const Topology& topology);

  simgrid::s4u::Host* host(EndpointId endpoint) const { return hosts_[endpoint]; }
  // Sets the path of the communication that starts next.
  void set_path(const std::vector<LinkId>& path) { path_ = &path; }

  void get_local_route(const simgrid::kernel::routing::NetPoint* source,
                       const simgrid::kernel::routing::NetPoint* destination, simgrid::kernel::routing::Route* route,
                       double* latency) override;

 private:
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::kernel::resource::StandardLinkImpl*> links_;
  const std::vector<LinkId>* path_ = nullptr;
};

}  // namespace moire::core::flow
