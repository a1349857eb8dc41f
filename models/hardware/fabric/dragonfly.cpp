#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/fabric/topologies.hpp"

namespace moire::fabric {

Dragonfly::Dragonfly(const DragonflySpec& spec, std::uint32_t nics_per_node, const nic::NicSpec& nic)
    : Ports(static_cast<std::uint32_t>(spec.groups * spec.routers_per_group * spec.nodes_per_router) * nics_per_node,
            nic, spec.link_latency + spec.switch_latency, spec.link_latency),
      groups_(static_cast<std::uint32_t>(spec.groups)),
      routers_(static_cast<std::uint32_t>(spec.routers_per_group)),
      router_endpoints_(static_cast<std::uint32_t>(spec.nodes_per_router) * nics_per_node),
      spines_(static_cast<std::uint32_t>(spec.spines_per_group.value_or(0))),
      global_(static_cast<std::uint32_t>(spec.global_links)),
      copies_(groups_ > 1 ? (spines_ > 0 ? spines_ : routers_) * global_ / (groups_ - 1) : 0),
      valiant_(spec.routing == DragonflyRouting::valiant),
      seed_(spec.seed) {
  const auto bandwidth = [&nic](const DragonflyLinkSpec& link) { return link.bandwidth * nic.payload_efficiency; };
  const auto latency = [&spec](const DragonflyLinkSpec& link) { return link.latency + spec.switch_latency; };
  const auto add_local = [&](std::string name) {
    add_link(std::move(name), bandwidth(spec.local_link), latency(spec.local_link));
  };
  first_local_ = static_cast<core::LinkId>(links().size());
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (std::uint32_t router = 0; router < routers_; ++router) {
      for (std::uint32_t spine = 0; spine < spines_; ++spine) {
        add_local(fmt::format("group{}.router{}.spine{}.up", group, router, spine));
        add_local(fmt::format("group{}.router{}.spine{}.down", group, router, spine));
      }
      for (std::uint32_t other = 0; spines_ == 0 && other < routers_; ++other) {
        if (other != router) add_local(fmt::format("group{}.router{}.to{}", group, router, other));
      }
    }
  }
  first_global_ = static_cast<core::LinkId>(links().size());
  for (std::uint32_t group = 0; group < groups_; ++group) {
    for (std::uint32_t further = 1; further < groups_; ++further) {
      for (std::uint32_t copy = 0; copy < copies_; ++copy) {
        add_link(fmt::format("group{}.to{}.{}", group, (group + further) % groups_, copy), bandwidth(spec.global_link),
                 latency(spec.global_link));
      }
    }
  }
}

void Dragonfly::between(std::uint32_t group, std::uint32_t from, std::uint32_t to,
                        std::vector<core::LinkId>& path) const {
  if (from == to) return;
  path.push_back(first_local_ + (group * routers_ + from) * (routers_ - 1) + (to < from ? to : to - 1));
}

void Dragonfly::leaf_to_spine(std::uint32_t group, std::uint32_t leaf, std::uint32_t spine, bool up,
                              std::vector<core::LinkId>& path) const {
  path.push_back(first_local_ + 2 * ((group * routers_ + leaf) * spines_ + spine) + (up ? 0 : 1));
}

void Dragonfly::route(core::EndpointId source, core::EndpointId destination, std::uint32_t flow,
                      std::vector<core::LinkId>& path) const {
  const std::uint32_t group = source / group_endpoints();
  const std::uint32_t further = (destination / group_endpoints() + groups_ - group) % groups_;
  const std::uint32_t from = source / router_endpoints_ % routers_;
  const std::uint32_t to = destination / router_endpoints_ % routers_;
  // Hashes only the endpoints' positions within their groups and the distance of the groups, not the groups' numbers.
  // So routes are the same from every group (turns()).
  std::uint64_t hash = hash_of(std::uint64_t{source % group_endpoints()} << 32 | destination % group_endpoints(),
                               flow + further * 0x9e3779b9U, seed_);
  const auto draw = [&hash](std::uint32_t count) {
    const auto drawn = static_cast<std::uint32_t>(hash % count);
    hash = hash_of(hash, 0, 0);
    return drawn;
  };
  // Appends the links from router or spine `a` of a group to its router or spine `b`.
  const auto within = [&](std::uint32_t in_group, std::uint32_t a, bool a_is_spine, std::uint32_t b, bool b_is_spine) {
    if (spines_ == 0) {
      between(in_group, a, b, path);
    } else if (a_is_spine != b_is_spine) {
      leaf_to_spine(in_group, a_is_spine ? b : a, a_is_spine ? a : b, b_is_spine, path);
    } else if (a != b) {
      const std::uint32_t by = draw(a_is_spine ? routers_ : spines_);
      leaf_to_spine(in_group, a_is_spine ? by : a, a_is_spine ? a : by, !a_is_spine, path);
      leaf_to_spine(in_group, a_is_spine ? by : b, a_is_spine ? b : by, a_is_spine, path);
    }
  };
  path.push_back(out(source));
  std::uint32_t at = group, on = from;
  bool spine = false;
  const auto go = [&](std::uint32_t distance) {
    const std::uint32_t copy = draw(copies_);
    within(at, on, spine, gateway(distance, copy), true);
    path.push_back(first_global_ + (at * (groups_ - 1) + distance - 1) * copies_ + copy);
    at = (at + distance) % groups_;
    on = gateway(groups_ - distance, copy);
    spine = true;
  };
  if (further != 0 && valiant_ && groups_ > 2) {
    std::uint32_t first = 1 + draw(groups_ - 2);  // neither the source's group nor the destination's
    if (first >= further) ++first;
    go(first);
    go((further + groups_ - first) % groups_);
  } else if (further != 0) {
    go(further);
  }
  within(at, on, spine, to, false);
  path.push_back(in(destination));
}

core::EndpointId Dragonfly::home_of(core::LinkId link) const {
  if (link >= first_global_) return (link - first_global_) / global_links() * group_endpoints();
  return (link - first_local_) / (local_links() / routers_) * router_endpoints_;
}

core::LinkId Dragonfly::other_turned(core::LinkId link, core::EndpointId by) const {
  const core::LinkId first = link >= first_global_ ? first_global_ : first_local_;
  const std::uint32_t block = link >= first_global_ ? global_links() : local_links();
  return first + (link - first + by / group_endpoints() * block) % (block * groups_);
}

}  // namespace moire::fabric
