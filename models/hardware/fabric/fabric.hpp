// Scale-out fabrics: the links between the NICs of a system, and the path between any two NICs. README.md describes
// topologies, equations and limits. The endpoint of NIC i of node n is n x nics_per_node + i.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/nic/nic_spec.hpp"
#include "models/hardware/part/uneven.hpp"
#include "sim/config/problem.hpp"
#include "sim/core/network.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::fabric {

inline constexpr Time cable_latency = Time{25'000};  // 5 m at 5 ns/m (light in fibre or copper)

// Two nodes connected back to back.
struct DirectSpec {
  Time link_latency = cable_latency;
  static void describe(config::Describer<DirectSpec>& d);
};

// How fast a switch adds up what several NICs send (in-network reduction).
struct ReductionSpec {
  BytesPerSecond rate;  // bytes of the sum per second, for each group of NICs
  Time latency;         // of the addition in one switch
  static void describe(config::Describer<ReductionSpec>& d);
};

// Every NIC is connected to one non-blocking switch.
struct StarSpec {
  Time link_latency = cable_latency;
  Time switch_latency;
  std::optional<ReductionSpec> reduction;
  static void describe(config::Describer<StarSpec>& d);
};

enum class Routing {
  static_hash,  // the hash of a queue pair selects its plane and spine
  per_packet,   // the packets of a queue pair take all planes and spines in turns
  adaptive,     // packets are spread evenly over all planes and spines, which therefore act as one spine
};

// Leaf switches under spine switches; every leaf is connected to every spine.
struct TwoLevelSpec {
  std::int64_t nodes_per_leaf = 1;
  std::int64_t spines = 1;
  double oversubscription = 1;  // bandwidth of a leaf's NIC ports / bandwidth of its uplinks
  std::int64_t planes = 1;      // every NIC has one port per plane; each plane has its own leaves and spines
  Time link_latency = cable_latency;
  Time switch_latency;
  Routing routing = Routing::static_hash;
  std::int64_t seed = 0;  // of the hash
  std::optional<ReductionSpec> reduction;
};

struct FatTreeSpec : TwoLevelSpec {  // a leaf serves all NICs of its nodes
  static void describe(config::Describer<FatTreeSpec>& d);
};

struct RailFatTreeSpec : TwoLevelSpec {  // a leaf serves one NIC of each of its nodes, always with the same index
  static void describe(config::Describer<RailFatTreeSpec>& d);
};

struct TorusLinkSpec {
  BytesPerSecond bandwidth;  // per direction, before the NIC's payload efficiency
  Time latency;              // per hop, including the router
  static void describe(config::Describer<TorusLinkSpec>& d);
};

// Nodes on a one-, two- or three-dimensional grid with wrap-around.
struct TorusSpec {
  std::vector<std::int64_t> dimensions;
  TorusLinkSpec link;
  static void describe(config::Describer<TorusSpec>& d);
};

enum class DragonflyRouting {
  minimal,  // a route uses one global link
  valiant,  // a route uses two global links, via a group that a hash selects; their load doubles but is even
};

struct DragonflyLinkSpec {
  BytesPerSecond bandwidth;  // per direction, before the NIC's payload efficiency
  Time latency;              // of the cable
  static void describe(config::Describer<DragonflyLinkSpec>& d);
};

// Groups of fully connected routers; the groups are fully connected as well (Kim et al., ISCA 2008). With spines, the
// routers of a group are connected only through its spines, which have the global links (Dragonfly+, Shpiner et al.,
// HiPINEB 2017).
struct DragonflySpec {
  std::int64_t groups = 0;
  std::int64_t routers_per_group = 0;
  std::int64_t nodes_per_router = 0;
  std::optional<std::int64_t> spines_per_group;
  std::int64_t global_links = 0;  // per router, or per spine
  DragonflyLinkSpec local_link, global_link;
  Time link_latency = cable_latency;
  Time switch_latency;
  DragonflyRouting routing = DragonflyRouting::minimal;
  std::int64_t seed = 0;  // of the hash
  static void describe(config::Describer<DragonflySpec>& d);
};

// A SimGrid platform file whose hosts are the NICs.
struct PlatformSpec {
  std::filesystem::path file;
  static void describe(config::Describer<PlatformSpec>& d);
};

// The fabric of a system. Exactly one of the members is set.
struct FabricSpec {
  std::optional<DirectSpec> direct;
  std::optional<StarSpec> star;
  std::optional<FatTreeSpec> fat_tree;
  std::optional<RailFatTreeSpec> rail_fat_tree;
  std::optional<TorusSpec> torus;
  std::optional<DragonflySpec> dragonfly;
  std::optional<PlatformSpec> platform;
  const ReductionSpec* reduction() const;  // returns null if the switches do not sum
  static void describe(config::Describer<FabricSpec>& d);
};

// A topology whose switches may sum (in-network reduction). NICs have the numbers below endpoints(), and switches that
// sum have numbers from endpoints() on. For each group of NICs, a tree of switches connects the members. route() also
// gives the route between a NIC or switch and the switch above it in the tree, in both directions.
class Fabric : public core::Topology {
 public:
  virtual const ReductionSpec* reduction() const { return nullptr; }
  // Returns the number of the switch above the NIC or switch `below` in the tree of a group. If `below` is the root,
  // returns the root.
  virtual core::EndpointId above(core::EndpointId below, std::uint32_t /*group*/) const { return below; }
};

// Builds the fabric. Returns null and sets `error` if the fabric does not fit the numbers of nodes and NICs, or has too
// many links.
// `uneven`: NICs and links that are slower than specified.
std::unique_ptr<Fabric> make_topology(const FabricSpec& spec, std::int64_t nodes, std::int64_t nics_per_node,
                                      const nic::NicSpec& nic, config::Problem& error, const part::Uneven& uneven = {});

}  // namespace moire::fabric
