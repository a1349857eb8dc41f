#include "models/hardware/fabric/fabric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "models/hardware/fabric/topologies.hpp"
#include "sim/config/spec.hpp"

namespace moire::fabric {

namespace {

constexpr const char* link_latency_text = "Latency of one cable";
constexpr const char* switch_latency_text = "Latency of one switch, from port to port";
constexpr const char* reduction_text =
    "How the switches add up what several NICs send (in-network reduction); absent: the switches do not add";
constexpr const char* hash_text = "Seed of the hash: another seed sends queue pairs on other routes";

template <class Spec>
void describe_two_levels(config::Describer<Spec>& d) {
  d.field("nodes_per_leaf", &Spec::nodes_per_leaf, "Nodes whose NICs share a leaf switch").range(1, 65536);
  d.field("spines", &Spec::spines, "Number of spine switches; every leaf connects to each of them").range(1, 4096);
  d.field("planes", &Spec::planes,
          "Number of parallel networks: each NIC port is split into this many parts, one per plane, and every plane "
          "has its own leaves and spines")
      .range(1, 16)
      .or_default();
  d.field("oversubscription", &Spec::oversubscription,
          "Bandwidth of the NIC ports of a leaf over the bandwidth of its uplinks")
      .range(0.01, 100)
      .or_default();
  d.field("link_latency", &Spec::link_latency, link_latency_text).or_default();
  d.field("switch_latency", &Spec::switch_latency, switch_latency_text).example("200 ns");
  d.field(
       "routing", &Spec::routing,
       "static: a hash gives each queue pair one plane and spine, which it keeps (ECMP); per_packet: the packets of a "
       "queue pair, of network.chunk bytes, take all planes and spines in turns (spraying); adaptive: packets spread "
       "ideally over all planes and spines")
      .choices({{"static", Routing::static_hash}, {"per_packet", Routing::per_packet}, {"adaptive", Routing::adaptive}})
      .or_default();
  d.field("seed", &Spec::seed, hash_text).range(0, 1000000000).or_default();
  d.field("reduction", &Spec::reduction, reduction_text).optional();
  d.check("reduction", [](const Spec& s) -> std::optional<config::Problem> {
    if (!s.reduction || s.planes == 1 || s.routing == Routing::adaptive) return std::nullopt;
    return config::Problem{"switches of several planes cannot sum, because each gets only a part of what a NIC sends",
                           "write planes: 1 or routing: adaptive"};
  });
}

// Most links of a fabric. A link takes about 100 bytes of memory. More links are probably a mistake in the file.
constexpr double most_links = 2e6;

bool few_links(double links, const char* fewer, config::Problem& error) {
  if (links <= most_links) return true;
  error = {fmt::format("the fabric would have {:.3g} links, but at most {:.0g} can be simulated", links, most_links),
           fmt::format("use fewer {}", fewer)};
  return false;
}

bool planes_fit(const TwoLevelSpec& spec, double endpoints, double leaves, config::Problem& error) {
  if (spec.routing == Routing::adaptive || spec.planes == 1) return true;
  const auto planes = static_cast<double>(spec.planes);
  return few_links(2 * planes * (endpoints + leaves * static_cast<double>(spec.spines)), "planes or spines", error);
}

// Returns false and sets `error` if an uplink has less bandwidth than a NIC port: a leaf would need less than one cable
// per spine.
bool uplinks_fit(const TwoLevelSpec& spec, std::int64_t ports_per_leaf, config::Problem& error) {
  const double ports = static_cast<double>(ports_per_leaf) / spec.oversubscription;
  const double cables = ports / static_cast<double>(spec.spines);
  if (spec.routing == Routing::adaptive || cables > 1 - 1e-9) return true;
  error = {fmt::format("{} NIC ports per leaf at oversubscription {} leave {:.2g} uplinks to each of {} spines",
                       ports_per_leaf, spec.oversubscription, cables, spec.spines),
           fmt::format("use at most {} spines or routing: adaptive", std::max(1, static_cast<int>(ports + 1e-9)))};
  return false;
}

}  // namespace

void DirectSpec::describe(config::Describer<DirectSpec>& d) {
  d.component("direct", "Two nodes wired back to back, without a switch.");
  d.field("link_latency", &DirectSpec::link_latency, link_latency_text).or_default();
}

void ReductionSpec::describe(config::Describer<ReductionSpec>& d) {
  d.component("reduction",
              "Switches that add up what the NICs of a group send and send the sum to all of them (SHARP). A file in "
              "configs/hardware.");
  d.sourced();
  d.field("rate", &ReductionSpec::rate, "Bytes of sums per second that a switch makes for each group of NICs")
      .positive()
      .example("50 GB/s");
  d.field("latency", &ReductionSpec::latency, "Latency of the sum in one switch, in addition to switch_latency")
      .example("200 ns");
}

void StarSpec::describe(config::Describer<StarSpec>& d) {
  d.component("star", "Every NIC on one non-blocking switch.");
  d.field("link_latency", &StarSpec::link_latency, link_latency_text).or_default();
  d.field("switch_latency", &StarSpec::switch_latency, switch_latency_text).example("200 ns");
  d.field("reduction", &StarSpec::reduction, reduction_text).optional();
}

void FatTreeSpec::describe(config::Describer<FatTreeSpec>& d) {
  d.component("fat_tree", "Two-level fat tree in which a leaf connects all NICs of its nodes.");
  describe_two_levels(d);
}

void RailFatTreeSpec::describe(config::Describer<RailFatTreeSpec>& d) {
  d.component("rail_fat_tree",
              "Rail-optimised two-level fat tree in which a leaf connects NIC i of each of its nodes.");
  describe_two_levels(d);
}

void TorusLinkSpec::describe(config::Describer<TorusLinkSpec>& d) {
  d.component("torus_link", "One link of a torus, between neighbouring nodes.");
  d.field("bandwidth", &TorusLinkSpec::bandwidth, "Raw bandwidth per direction; the NIC's payload efficiency applies")
      .positive()
      .example("200 Gb/s");
  d.field("latency", &TorusLinkSpec::latency, "Latency of one hop, including the router").example("700 ns");
}

void TorusSpec::describe(config::Describer<TorusSpec>& d) {
  d.component("torus", "Nodes at the points of a torus; all NICs of a node connect to its point.");
  d.field("dimensions", &TorusSpec::dimensions, "Nodes along each dimension; their product is the number of nodes")
      .range(2, 65536)
      .example("[16, 8]");
  d.field("link", &TorusSpec::link, "The links between neighbours");
  d.check("dimensions", [](const TorusSpec& s) -> std::optional<config::Problem> {
    if (s.dimensions.empty())
      return config::Problem{"the torus has no dimensions",
                             "write dimensions whose product is the number of nodes, such as [16, 8]"};
    return std::nullopt;
  });
}

void DragonflyLinkSpec::describe(config::Describer<DragonflyLinkSpec>& d) {
  d.component("dragonfly_link", "A link between two routers of a dragonfly.");
  d.field("bandwidth", &DragonflyLinkSpec::bandwidth,
          "Raw bandwidth per direction; the NIC's payload efficiency applies")
      .positive()
      .example("400 Gb/s");
  d.field("latency", &DragonflyLinkSpec::latency, "Latency of the cable").example("25 ns");
}

void DragonflySpec::describe(config::Describer<DragonflySpec>& d) {
  d.component("dragonfly",
              "Groups of routers. Each router has a link to every other router of its group, and each group to every "
              "other group. With spines_per_group it is a dragonfly+: the routers of a group are connected through its "
              "spines, which have the global links.");
  d.field("groups", &DragonflySpec::groups, "Number of groups").range(1, 4096).example("9");
  d.field("routers_per_group", &DragonflySpec::routers_per_group, "Routers per group that have nodes")
      .range(1, 4096)
      .example("4");
  d.field("nodes_per_router", &DragonflySpec::nodes_per_router, "Nodes per router, each with all of its NICs")
      .range(1, 4096)
      .example("2");
  d.field("spines_per_group", &DragonflySpec::spines_per_group,
          "Routers without nodes that connect the other routers of a group (dragonfly+)")
      .range(1, 4096);
  d.field("global_links", &DragonflySpec::global_links,
          "Links to other groups, per router or, if there are spines, per spine")
      .range(0, 4096)
      .example("2");
  d.field("local_link", &DragonflySpec::local_link, "The links within a group");
  d.field("global_link", &DragonflySpec::global_link, "The links between groups");
  d.field("link_latency", &DragonflySpec::link_latency, "Latency of the cable between a NIC and its router")
      .or_default();
  d.field("switch_latency", &DragonflySpec::switch_latency, "Latency of one router, from port to port")
      .example("350 ns");
  d.field("routing", &DragonflySpec::routing,
          "minimal: routes use one global link; valiant: routes use two, through a group that a hash chooses for each "
          "queue pair")
      .choices({{"minimal", DragonflyRouting::minimal}, {"valiant", DragonflyRouting::valiant}})
      .or_default();
  d.field("seed", &DragonflySpec::seed, hash_text).range(0, 1000000000).or_default();
  d.check("global_links", [](const DragonflySpec& s) -> std::optional<config::Problem> {
    const std::int64_t routers = s.spines_per_group.value_or(s.routers_per_group);
    if (routers * s.global_links >= s.groups - 1) return std::nullopt;
    return config::Problem{fmt::format("a group has {} global links, but there are {} other groups",
                                       routers * s.global_links, s.groups - 1),
                           fmt::format("set global_links to at least {}", (s.groups - 2 + routers) / routers)};
  });
}

void PlatformSpec::describe(config::Describer<PlatformSpec>& d) {
  d.component("platform",
              "The links and routes of a SimGrid platform file. Its hosts are the NICs, ordered by name with numbers "
              "compared by value. A route begins and ends with the ports of the two NICs, and takes the route between "
              "their hosts in between.");
  d.field("file", &PlatformSpec::file, "Path of the platform file, relative to this file").example("cluster.xml");
}

const ReductionSpec* FabricSpec::reduction() const {
  const auto of = [](const auto& kind) { return kind && kind->reduction ? &*kind->reduction : nullptr; };
  if (star) return of(star);
  return fat_tree ? of(fat_tree) : of(rail_fat_tree);
}

void FabricSpec::describe(config::Describer<FabricSpec>& d) {
  d.component("fabric", "The scale-out network between nodes; write exactly one kind.");
  d.field("direct", &FabricSpec::direct, "Two nodes back to back");
  d.field("star", &FabricSpec::star, "One switch for all NICs");
  d.field("fat_tree", &FabricSpec::fat_tree, "Leaves that connect whole nodes, under spines");
  d.field("rail_fat_tree", &FabricSpec::rail_fat_tree, "Leaves that connect one rail each, under spines");
  d.field("torus", &FabricSpec::torus, "Direct links to the neighbours of a ring, plane or cube");
  d.field("dragonfly", &FabricSpec::dragonfly, "Groups of routers, each group connected to every other");
  d.field("platform", &FabricSpec::platform, "A platform file of SimGrid");
  d.check([](const FabricSpec& s) -> std::optional<config::Problem> {
    const int kinds = s.direct.has_value() + s.star.has_value() + s.fat_tree.has_value() + s.rail_fat_tree.has_value() +
                      s.torus.has_value() + s.dragonfly.has_value() + s.platform.has_value();
    if (kinds == 1) return std::nullopt;
    return config::Problem{fmt::format("{} kinds of fabric are given", kinds),
                           "write one of direct, star, fat_tree, rail_fat_tree, torus, dragonfly, platform"};
  });
}

namespace {

std::unique_ptr<Ports> make_even(const FabricSpec& spec, std::int64_t nodes, std::int64_t nics_per_node,
                                 const nic::NicSpec& nic, config::Problem& error) {
  const auto points = static_cast<std::uint32_t>(nodes);
  const auto nics = static_cast<std::uint32_t>(nics_per_node);
  if (nodes < 1 || nics_per_node < 1) {
    error = {"a fabric needs at least one node with a NIC", "set nodes and node.nics"};
    return nullptr;
  }
  if (spec.direct) {
    if (nodes <= 2) return std::make_unique<OneHop>(*spec.direct, points * nics, nic);
    error = {fmt::format("direct connects 2 nodes, but the system has {}", nodes),
             "use star, fat_tree, rail_fat_tree, torus, dragonfly or platform"};
  } else if (spec.star) {
    return std::make_unique<OneHop>(*spec.star, points * nics, nic);
  } else if (spec.fat_tree) {
    const double leaves = std::ceil(static_cast<double>(nodes) / static_cast<double>(spec.fat_tree->nodes_per_leaf));
    if (uplinks_fit(*spec.fat_tree, spec.fat_tree->nodes_per_leaf * nics_per_node, error) &&
        planes_fit(*spec.fat_tree, points * nics, leaves, error)) {
      return std::make_unique<TwoLevel>(*spec.fat_tree, points, nics, nic);
    }
  } else if (spec.rail_fat_tree) {
    const double leaves =
        nics * std::ceil(static_cast<double>(nodes) / static_cast<double>(spec.rail_fat_tree->nodes_per_leaf));
    if (uplinks_fit(*spec.rail_fat_tree, spec.rail_fat_tree->nodes_per_leaf, error) &&
        planes_fit(*spec.rail_fat_tree, points * nics, leaves, error)) {
      return std::make_unique<TwoLevel>(*spec.rail_fat_tree, points, nics, nic);
    }
  } else if (spec.torus) {
    double product = 1;
    for (const std::int64_t size : spec.torus->dimensions) product *= static_cast<double>(size);
    if (product == static_cast<double>(nodes)) return std::make_unique<Torus>(*spec.torus, nics, nic);
    error = {fmt::format("torus dimensions {} make {:.0f} nodes, but the system has {}",
                         fmt::join(spec.torus->dimensions, " x "), product, nodes),
             fmt::format("choose dimensions whose product is {}", nodes)};
  } else if (spec.dragonfly) {
    const DragonflySpec& d = *spec.dragonfly;
    const double product = static_cast<double>(d.groups) * static_cast<double>(d.routers_per_group) *
                           static_cast<double>(d.nodes_per_router);
    if (product == static_cast<double>(nodes)) {
      const auto groups = static_cast<double>(d.groups), routers = static_cast<double>(d.routers_per_group);
      const auto gateways = static_cast<double>(d.spines_per_group.value_or(d.routers_per_group));
      const double local = d.spines_per_group ? 2 * routers * gateways : routers * (routers - 1);
      if (!few_links(groups * (local + gateways * static_cast<double>(d.global_links)), "routers or global links",
                     error))
        return nullptr;
      return std::make_unique<Dragonfly>(d, nics, nic);
    }
    error = {fmt::format("{} groups of {} routers with {} nodes each make {:.0f} nodes, but the system has {}",
                         d.groups, d.routers_per_group, d.nodes_per_router, product, nodes),
             fmt::format("choose numbers whose product is {}", nodes)};
  } else if (spec.platform) {
    return make_platform(*spec.platform, points * nics, nic, error);
  } else {
    error = {"the fabric has no kind",
             "write one of direct, star, fat_tree, rail_fat_tree, torus, dragonfly, platform"};
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Fabric> make_topology(const FabricSpec& spec, std::int64_t nodes, std::int64_t nics_per_node,
                                      const nic::NicSpec& nic, config::Problem& error, const part::Uneven& uneven) {
  auto topology = make_even(spec, nodes, nics_per_node, nic, error);
  if (topology) topology->slow_down(uneven);
  return topology;
}

}  // namespace moire::fabric
