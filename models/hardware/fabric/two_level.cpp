#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/fabric/topologies.hpp"

namespace moire::fabric {

namespace {

std::vector<std::uint32_t> whole_nodes(std::uint32_t nodes, std::uint32_t nics, std::int64_t nodes_per_leaf) {
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t endpoint = 0; endpoint < nodes * nics; ++endpoint) {
    leaf_of.push_back(static_cast<std::uint32_t>(endpoint / nics / nodes_per_leaf));
  }
  return leaf_of;
}

// Returns the leaf of each endpoint. The leaves of rail 0 have the lowest numbers, then those of rail 1, and so on.
std::vector<std::uint32_t> rails(std::uint32_t nodes, std::uint32_t nics, std::int64_t nodes_per_leaf) {
  const auto leaves_per_rail = static_cast<std::uint32_t>((nodes + nodes_per_leaf - 1) / nodes_per_leaf);
  std::vector<std::uint32_t> leaf_of;
  for (std::uint32_t endpoint = 0; endpoint < nodes * nics; ++endpoint) {
    const std::uint32_t rail = endpoint % nics;
    leaf_of.push_back(rail * leaves_per_rail + static_cast<std::uint32_t>(endpoint / nics / nodes_per_leaf));
  }
  return leaf_of;
}

}  // namespace

TwoLevel::TwoLevel(const FatTreeSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node, const nic::NicSpec& nic)
    : TwoLevel(spec, whole_nodes(nodes, nics_per_node, spec.nodes_per_leaf), spec.nodes_per_leaf * nics_per_node, nic) {
}

TwoLevel::TwoLevel(const RailFatTreeSpec& spec, std::uint32_t nodes, std::uint32_t nics_per_node,
                   const nic::NicSpec& nic)
    : TwoLevel(spec, rails(nodes, nics_per_node, spec.nodes_per_leaf), spec.nodes_per_leaf, nic) {}

// Bandwidth from a leaf to one spine = ports x wire bandwidth / (oversubscription x planes x spines per plane), where
// `ports` is the number of NICs of a leaf. With adaptive routing, all spines and planes act as one spine in one plane.
TwoLevel::TwoLevel(const TwoLevelSpec& spec, std::vector<std::uint32_t> leaf_of, std::int64_t ports_per_leaf,
                   const nic::NicSpec& nic)
    : Ports(static_cast<std::uint32_t>(leaf_of.size()), nic, spec.link_latency + spec.switch_latency, spec.link_latency,
            spec.reduction),
      leaf_of_(std::move(leaf_of)),
      planes_(spec.routing == Routing::adaptive ? 1 : static_cast<std::uint32_t>(spec.planes)),
      spines_(spec.routing == Routing::adaptive ? 1 : static_cast<std::uint32_t>(spec.spines)),
      per_packet_(spec.routing == Routing::per_packet),
      seed_(spec.seed) {
  const std::uint32_t leaves = *std::max_element(leaf_of_.begin(), leaf_of_.end()) + 1;
  const BytesPerSecond trunk =
      nic.wire_bandwidth() * (static_cast<double>(ports_per_leaf) / (spec.oversubscription * planes_ * spines_));
  const Time latency = spec.link_latency + spec.switch_latency;
  first_of_leaf_.resize(leaves);
  for (core::EndpointId e = endpoints(); e-- > 0;) first_of_leaf_[leaf_of_[e]] = e;
  first_plane_port_ = static_cast<core::LinkId>(links().size());
  if (planes_ > 1) {
    const BytesPerSecond port = nic.wire_bandwidth() * (1.0 / planes_);
    for (core::EndpointId e = 0; e < endpoints(); ++e) {
      for (std::uint32_t plane = 0; plane < planes_; ++plane) {
        add_link(fmt::format("nic{}.plane{}.out", e, plane), port, Time{});
        add_link(fmt::format("nic{}.plane{}.in", e, plane), port, Time{});
      }
    }
  }
  first_trunk_ = static_cast<core::LinkId>(links().size());
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint32_t plane = 0; plane < planes_; ++plane) {
      const std::string of = planes_ > 1 ? fmt::format("leaf{}.plane{}", leaf, plane) : fmt::format("leaf{}", leaf);
      for (std::uint32_t spine = 0; spine < spines_; ++spine) {
        add_link(fmt::format("{}.spine{}.up", of, spine), trunk, latency);
        add_link(fmt::format("{}.spine{}.down", of, spine), trunk, latency);
      }
    }
  }
}

std::uint32_t TwoLevel::routes(core::EndpointId source, core::EndpointId destination) const {
  if (!per_packet_ || source >= endpoints() || destination >= endpoints()) return 1;
  return leaf_of_[source] == leaf_of_[destination] ? planes_ : planes_ * spines_;
}

void TwoLevel::route(core::EndpointId source, core::EndpointId destination, std::uint32_t flow,
                     std::vector<core::LinkId>& path) const {
  // If source or destination is a switch that sums, the route leads between a NIC and its leaf or between a leaf and a
  // spine.
  const core::EndpointId first_spine = endpoints() + leaves();
  if (source >= endpoints() || destination >= endpoints()) {
    const core::EndpointId lower = std::min(source, destination), higher = std::max(source, destination);
    const bool up = lower == source;
    if (lower < endpoints()) {
      path.push_back(up ? out(lower) : in(lower));
    } else {
      path.push_back(first_trunk_ + 2 * ((lower - endpoints()) * spines_ + higher - first_spine) + (up ? 0 : 1));
    }
    return;
  }
  const std::uint32_t from = leaf_of_[source];
  const std::uint32_t to = leaf_of_[destination];
  // With per-packet routing, `flow` is the number of the route. Consecutive routes take different planes, so that a
  // plane can send its packet while the next packets go to the other planes.
  const std::uint64_t hash = hash_of(std::uint64_t{source} << 32 | destination, per_packet_ ? 0 : flow, seed_);
  const std::uint32_t turn = per_packet_ ? flow : 0;
  const auto plane = static_cast<std::uint32_t>(((hash >> 32) + turn) % planes_);
  const auto plane_port = [&](core::EndpointId endpoint) {
    return first_plane_port_ + 2 * (endpoint * planes_ + plane);
  };
  path.push_back(out(source));
  if (planes_ > 1) path.push_back(plane_port(source));
  if (from != to) {
    const auto spine = static_cast<std::uint32_t>((hash % spines_ + turn / planes_) % spines_);
    path.push_back(first_trunk_ + 2 * ((from * planes_ + plane) * spines_ + spine));
    path.push_back(first_trunk_ + 2 * ((to * planes_ + plane) * spines_ + spine) + 1);
  }
  if (planes_ > 1) path.push_back(plane_port(destination) + 1);
  path.push_back(in(destination));
}

core::EndpointId TwoLevel::above(core::EndpointId below, std::uint32_t group) const {
  if (below < endpoints()) return endpoints() + leaf_of_[below];
  return below < endpoints() + leaves() ? endpoints() + leaves() + group % spines_ : below;
}

bool TwoLevel::any_order(core::EndpointId each) const {
  if (planes_ > 1) return false;
  for (core::EndpointId e = 0; e < endpoints(); ++e)
    if (leaf_of_[e] != leaf_of_[e % each]) return false;
  return true;
}

core::EndpointId TwoLevel::home_of(core::LinkId link) const {
  return link < first_trunk_ ? (link - first_plane_port_) / 2 / planes_ : first_of_leaf_[leaf_of_trunk(link)];
}

// The shift must map whole leaves to whole leaves. With several spines, the hash selects the spine, and a shift changes
// the endpoints' numbers and with them the hash. So every endpoint must stay under its leaf. Trunks are then mapped to
// themselves, and Topology::turns() exempts the routes over them.
bool TwoLevel::turns(core::EndpointId by) const {
  if (planes_ > 1) return false;
  constexpr std::uint32_t unknown = UINT32_MAX;
  const auto leaves = first_of_leaf_.size();
  std::vector<std::uint32_t> to(leaves, unknown), from(leaves, unknown);
  for (core::EndpointId e = 0; e < endpoints(); ++e) {
    const std::uint32_t leaf = leaf_of_[e], other = leaf_of_[(e + by) % endpoints()];
    if (to[leaf] == unknown) to[leaf] = other;
    if (from[other] == unknown) from[other] = leaf;
    if (to[leaf] != other || from[other] != leaf || (spines_ > 1 && leaf != other)) return false;
  }
  return true;
}

core::LinkId TwoLevel::other_turned(core::LinkId link, core::EndpointId by) const {
  const std::uint32_t from = leaf_of_trunk(link);
  const std::uint32_t to = leaf_of_[(first_of_leaf_[from] + by) % endpoints()];
  return link - 2 * from * spines_ + 2 * to * spines_;
}

}  // namespace moire::fabric
