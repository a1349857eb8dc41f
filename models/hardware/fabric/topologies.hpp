// The classes of the topologies that make_topology() builds. Tests construct objects of these classes directly.
#pragma once

#include "models/hardware/fabric/fabric.hpp"

namespace moire::fabric {

// Returns a hash of a queue pair, from which routes are chosen. The finaliser of splitmix64 mixes the bits, so that
// similar inputs give unrelated results.
std::uint64_t hash_of(std::uint64_t pair, std::uint32_t flow, std::int64_t seed);

// Base of all fabrics. Endpoint e has link 2e out of it and link 2e + 1 into it, both with the NIC's bandwidth. So a
// NIC port is one capacity per direction in every fabric.
class Ports : public Fabric {
 public:
  std::uint32_t endpoints() const override { return endpoints_; }
  const std::vector<core::NetworkLink>& links() const override { return links_; }
  core::EndpointId home(core::LinkId link) const override { return link < 2 * endpoints_ ? link / 2 : home_of(link); }
  void slow_down(const part::Uneven& uneven);
  core::LinkId turned(core::LinkId link, core::EndpointId by) const override {
    return link < 2 * endpoints_ ? (link + 2 * by) % (2 * endpoints_) : other_turned(link, by);
  }

  const ReductionSpec* reduction() const override { return reduction_ ? &*reduction_ : nullptr; }

 protected:
  Ports(std::uint32_t endpoints, const nic::NicSpec& nic, Time out_latency, Time in_latency,
        std::optional<ReductionSpec> reduction = std::nullopt);

  core::LinkId out(core::EndpointId endpoint) const { return 2 * endpoint; }
  core::LinkId in(core::EndpointId endpoint) const { return 2 * endpoint + 1; }
  core::LinkId add_link(std::string name, BytesPerSecond bandwidth, Time latency);
  // Results of home() and turned() for a link that is no NIC port.
  virtual core::EndpointId home_of(core::LinkId link) const { return link; }
  virtual core::LinkId other_turned(core::LinkId link, core::EndpointId /*by*/) const { return link; }

 private:
  std::uint32_t endpoints_;
  std::optional<ReductionSpec> reduction_;
  std::vector<core::NetworkLink> links_;
};

// The fabrics `direct` and `star`: a path leads out of one NIC port and into another.
class OneHop final : public Ports {
 public:
  OneHop(const DirectSpec& spec, std::uint32_t endpoints, const nic::NicSpec& nic);
  OneHop(const StarSpec& spec, std::uint32_t endpoints, const nic::NicSpec& nic);
  void route(core::EndpointId source, core::EndpointId destination, std::uint32_t flow,
             std::vector<core::LinkId>& path) const override;
  bool turns(core::EndpointId) const override { return true; }
  bool any_order(core::EndpointId) const override { return true; }
  core::EndpointId above(core::EndpointId, std::uint32_t) const override { return endpoints(); }
};

class TwoLevel final : public Ports {
 public:
  TwoLevel(const FatTreeSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node, const nic::NicSpec& nic);
  TwoLevel(const RailFatTreeSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node, const nic::NicSpec& nic);
  void route(core::EndpointId source, core::EndpointId destination, std::uint32_t flow,
             std::vector<core::LinkId>& path) const override;
  std::uint32_t routes(core::EndpointId source, core::EndpointId destination) const override;
  std::uint32_t leaf_of(core::EndpointId endpoint) const { return leaf_of_[endpoint]; }
  // As a switch that sums, leaf l has the number endpoints() + l. The numbers of the spines follow those of the leaves.
  core::EndpointId above(core::EndpointId below, std::uint32_t group) const override;
  bool turns(core::EndpointId by) const override;
  // True with one leaf, or with one leaf for each rail.
  bool any_order(core::EndpointId each) const override;

 private:
  TwoLevel(const TwoLevelSpec& spec, std::vector<std::uint32_t> leaf_of, std::int64_t ports_per_leaf,
           const nic::NicSpec& nic);
  core::EndpointId home_of(core::LinkId link) const override;
  core::LinkId other_turned(core::LinkId link, core::EndpointId by) const override;
  std::uint32_t leaves() const { return static_cast<std::uint32_t>(first_of_leaf_.size()); }
  std::uint32_t leaf_of_trunk(core::LinkId link) const { return (link - first_trunk_) / 2 / (planes_ * spines_); }

  std::vector<std::uint32_t> leaf_of_;
  std::vector<core::EndpointId> first_of_leaf_;
  std::uint32_t planes_, spines_;  // planes, and spines per plane, among which routing chooses (adaptive: 1)
  bool per_packet_;
  std::int64_t seed_;
  core::LinkId first_plane_port_ = 0, first_trunk_ = 0;
};

class Torus final : public Ports {
 public:
  Torus(const TorusSpec& spec, std::uint32_t nics_per_node, const nic::NicSpec& nic);
  void route(core::EndpointId source, core::EndpointId destination, std::uint32_t flow,
             std::vector<core::LinkId>& path) const override;
  // True for shifts along the last dimension that meet the parity conditions of torus.cpp.
  bool turns(core::EndpointId by) const override;

 private:
  core::EndpointId home_of(core::LinkId link) const override;
  core::LinkId other_turned(core::LinkId link, core::EndpointId by) const override;
  std::vector<std::uint32_t> size_;
  std::uint32_t nics_per_node_;
  core::LinkId first_hop_ = 0;
};

// Returns null and sets `error` if SimGrid cannot read the file, or if the file has not one host per endpoint.
std::unique_ptr<Ports> make_platform(const PlatformSpec& spec, std::uint32_t endpoints, const nic::NicSpec& nic,
                                     config::Problem& error);

// Endpoint e is on router e / (nodes_per_router x nics per node), and router r is in group r / routers_per_group. A
// group has several links to each other group, numbered c = 0, 1, ... Link c to the group whose number is higher by d
// (modulo the number of groups) starts at router (with spines: at spine) number (c x (groups - 1) + d - 1) /
// global_links of the group.
class Dragonfly final : public Ports {
 public:
  Dragonfly(const DragonflySpec& spec, std::uint32_t nics_per_node, const nic::NicSpec& nic);
  void route(core::EndpointId source, core::EndpointId destination, std::uint32_t flow,
             std::vector<core::LinkId>& path) const override;
  // True for shifts by whole groups, because the hash only uses positions within groups and the distance of the groups.
  bool turns(core::EndpointId by) const override { return by % group_endpoints() == 0; }

 private:
  core::EndpointId home_of(core::LinkId link) const override;
  core::LinkId other_turned(core::LinkId link, core::EndpointId by) const override;
  std::uint32_t group_endpoints() const { return routers_ * router_endpoints_; }
  std::uint32_t local_links() const { return routers_ * (spines_ > 0 ? 2 * spines_ : routers_ - 1); }
  std::uint32_t global_links() const { return (groups_ - 1) * copies_; }
  // Returns the index within its group of the router (or spine) at which a link starts: link number `copy` to the group
  // whose number is higher by `further`.
  std::uint32_t gateway(std::uint32_t further, std::uint32_t copy) const {
    return (copy * (groups_ - 1) + further - 1) / global_;
  }
  void between(std::uint32_t group, std::uint32_t from, std::uint32_t to, std::vector<core::LinkId>& path) const;
  void leaf_to_spine(std::uint32_t group, std::uint32_t leaf, std::uint32_t spine, bool up,
                     std::vector<core::LinkId>& path) const;

  std::uint32_t groups_, routers_, router_endpoints_, spines_, global_, copies_;
  bool valiant_;
  std::int64_t seed_;
  core::LinkId first_local_ = 0, first_global_ = 0;
};

}  // namespace moire::fabric
