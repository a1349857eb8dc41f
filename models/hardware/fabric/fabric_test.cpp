#include "models/hardware/fabric/fabric.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <numeric>
#include <ostream>
#include <set>

#include "models/hardware/fabric/networks.hpp"
#include "models/hardware/fabric/topologies.hpp"
#include "sim/config/config.hpp"
#include "sim/core/queue_network.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::fabric {
namespace {

using core::EndpointId;
using core::LinkId;
using core::Topology;

nic::NicSpec example_nic() {
  nic::NicSpec nic;
  nic.bandwidth = {25e9};
  nic.payload_efficiency = 1;
  nic.latency = Time::from_ns(200);
  nic.pcie_bandwidth = {26e9};
  return nic;
}

FabricSpec from(const std::string& yaml, std::string* errors = nullptr) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("fabric.yaml", yaml, {}, diagnostics);
  const auto spec = root ? config::parse<FabricSpec>(*root, diagnostics) : std::nullopt;
  if (errors != nullptr) {
    *errors = diagnostics.str();
  } else {
    EXPECT_TRUE(spec && diagnostics.ok()) << diagnostics.str();
  }
  return spec.value_or(FabricSpec{});
}

std::unique_ptr<Fabric> make(const std::string& yaml, std::int64_t nodes, std::int64_t nics = 1) {
  config::Problem error;
  auto topology = make_topology(from(yaml), nodes, nics, example_nic(), error);
  EXPECT_TRUE(topology) << error.str();
  return topology;
}

std::string refusal(const std::string& yaml, std::int64_t nodes, std::int64_t nics = 1) {
  config::Problem error;
  EXPECT_EQ(make_topology(from(yaml), nodes, nics, example_nic(), error), nullptr);
  return error.str();
}

std::vector<LinkId> path(const Topology& topology, EndpointId source, EndpointId destination, std::uint32_t flow = 0) {
  std::vector<LinkId> links;
  topology.route(source, destination, flow, links);
  return links;
}

Time latency(const Topology& topology, EndpointId source, EndpointId destination) {
  Time sum;
  for (const LinkId link : path(topology, source, destination)) sum += topology.links()[link].latency;
  return sum;
}

constexpr const char* rail = "rail_fat_tree: {nodes_per_leaf: 4, spines: 2, switch_latency: 150 ns}";
constexpr const char* tree = "fat_tree: {nodes_per_leaf: 4, spines: 2, switch_latency: 150 ns}";
// Returns the YAML of a dragonfly of 5 groups of 4 routers with 2 nodes each. Each group has 4 x `global` global links,
// spread evenly over the other groups.
std::string dragonfly(int global, const std::string& more = "") {
  return fmt::format(
      "dragonfly: {{groups: 5, routers_per_group: 4, nodes_per_router: 2, global_links: {}, local_link: {{bandwidth: "
      "200 "
      "Gb/s, latency: 10 ns}}, global_link: {{bandwidth: 400 Gb/s, latency: 100 ns}}, switch_latency: 350 ns{}}}",
      global, more);
}

constexpr const char* torus_16x8 = "torus: {dimensions: [16, 8], link: {bandwidth: 200 Gb/s, latency: 700 ns}}";

struct Kind {
  const char* name;
  std::string yaml;
  std::int64_t nodes, nics;
  bool same_way_back = true;  // the path back has the same length; false if a hash may choose another path
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class EveryFabric : public testing::TestWithParam<Kind> {};

// Each path leaves through the source's port, enters through the destination's port, uses no link twice, and has only
// links that exist.
TEST_P(EveryFabric, PathsAreSound) {
  const auto topology = make(GetParam().yaml, GetParam().nodes, GetParam().nics);
  const auto n = static_cast<EndpointId>(GetParam().nodes * GetParam().nics);
  ASSERT_EQ(topology->endpoints(), n);
  std::set<std::string> names;
  for (const auto& link : topology->links()) {
    EXPECT_TRUE(names.insert(link.name).second) << link.name;
    EXPECT_GT(link.bandwidth.value, 0);
  }
  for (EndpointId source = 0; source < n; ++source) {
    for (EndpointId destination = 0; destination < n; ++destination) {
      for (const std::uint32_t flow : {0u, 7u}) {
        const auto links = path(*topology, source, destination, flow);
        ASSERT_GE(links.size(), 2u);
        EXPECT_EQ(links.front(), 2 * source);
        EXPECT_EQ(links.back(), 2 * destination + 1);
        EXPECT_EQ(std::set(links.begin(), links.end()).size(), links.size());
        for (const LinkId link : links) ASSERT_LT(link, topology->links().size());
        EXPECT_EQ(links, path(*topology, source, destination, flow));
        if (GetParam().same_way_back) {
          EXPECT_EQ(links.size(), path(*topology, destination, source, flow).size());
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EveryFabric,
    testing::Values(
        Kind{"direct", "direct: {}", 2, 4}, Kind{"star", "star: {switch_latency: 150 ns}", 8, 2},
        Kind{"fat_tree", tree, 10, 2}, Kind{"rail", rail, 10, 4},
        Kind{"rail_adaptive",
             "rail_fat_tree: {nodes_per_leaf: 4, spines: 3, switch_latency: 150 ns, routing: adaptive}", 10, 2},
        Kind{"ring", "torus: {dimensions: [9], link: {bandwidth: 200 Gb/s, latency: 700 ns}}", 9, 2},
        Kind{"torus_2d", torus_16x8, 128, 1},
        Kind{"rail_planes", "rail_fat_tree: {nodes_per_leaf: 4, spines: 2, planes: 2, switch_latency: 150 ns}", 10, 2},
        Kind{"tree_planes", "fat_tree: {nodes_per_leaf: 4, spines: 3, planes: 4, seed: 7, switch_latency: 150 ns}", 10,
             2},
        Kind{"dragonfly", dragonfly(1), 40, 2}, Kind{"dragonfly_copies", dragonfly(3), 40, 1, false},
        Kind{"dragonfly_valiant", dragonfly(2, ", routing: valiant"), 40, 1, false},
        Kind{"dragonfly_plus", dragonfly(2, ", spines_per_group: 2"), 40, 2},
        Kind{"dragonfly_plus_valiant", dragonfly(2, ", spines_per_group: 3, routing: valiant, seed: 3"), 40, 1, false},
        Kind{"torus_3d", "torus: {dimensions: [4, 2, 3], link: {bandwidth: 200 Gb/s, latency: 700 ns}}", 24, 1}),
    [](const auto& of) { return std::string(of.param.name); });

TEST(Direct, OneCableBetweenTwoNics) {
  const auto topology = make("direct: {link_latency: 30 ns}", 2, 2);
  EXPECT_EQ(latency(*topology, 0, 2), Time::from_ns(200 + 30 + 200));
  EXPECT_THAT(refusal("direct: {}", 3), testing::HasSubstr("direct connects 2 nodes, but the system has 3; use star"));
}

TEST(Star, TwoCablesAndASwitch) {
  const auto topology = make("star: {link_latency: 30 ns, switch_latency: 150 ns}", 8);
  EXPECT_EQ(latency(*topology, 3, 5), Time::from_ns(200 + 30 + 150 + 30 + 200));
  EXPECT_EQ(topology->links()[0].bandwidth.value, 25e9);
}

// NIC r of a node reaches NIC r of all nodes of its leaf through that leaf alone; all other traffic goes over a spine.
TEST(RailFatTree, RailsKeepToTheirLeaves) {
  const std::uint32_t nics = 4;
  const auto topology = make(rail, 8, nics);
  for (EndpointId a = 0; a < 8 * nics; ++a) {
    for (EndpointId b = 0; b < 8 * nics; ++b) {
      const bool same_rail = a % nics == b % nics;
      const bool same_leaf = same_rail && a / nics / 4 == b / nics / 4;
      EXPECT_EQ(path(*topology, a, b).size(), same_leaf ? 2u : 4u) << a << " " << b;
    }
  }
  EXPECT_EQ(latency(*topology, 0, nics), Time::from_ns(400 + 2 * 25 + 150));
  EXPECT_EQ(latency(*topology, 0, 1), Time::from_ns(400 + 4 * 25 + 3 * 150));
}

TEST(FatTree, NodesKeepToTheirLeaf) {
  const auto topology = make(tree, 8, 2);
  EXPECT_EQ(path(*topology, 0, 7).size(), 2u);
  EXPECT_EQ(path(*topology, 0, 8).size(), 4u);
}

TEST(TwoLevel, OversubscriptionSetsTheUplinks) {
  for (const char* routing : {"static", "adaptive"}) {
    for (const double ratio : {1.0, 2.0}) {
      const auto topology = make(fmt::format("fat_tree: {{nodes_per_leaf: 8, spines: 4, oversubscription: {}, "
                                             "switch_latency: 1 ns, routing: {}}}",
                                             ratio, routing),
                                 16);
      double up = 0;
      for (const auto& link : topology->links()) {
        if (link.name.starts_with("leaf0.") && link.name.ends_with(".up")) up += link.bandwidth.value;
      }
      EXPECT_DOUBLE_EQ(up, 8 * 25e9 / ratio);
    }
  }
  EXPECT_THAT(refusal("fat_tree: {nodes_per_leaf: 4, spines: 8, switch_latency: 1 ns}", 16),
              testing::HasSubstr("use at most 4 spines or routing: adaptive"));
}

TEST(TwoLevel, HashSpreadsFlowsAndKeepsEachOne) {
  const auto topology = make("fat_tree: {nodes_per_leaf: 8, spines: 8, switch_latency: 1 ns}", 16);
  std::map<LinkId, int> flows;
  for (std::uint32_t flow = 0; flow < 800; ++flow) ++flows[path(*topology, 0, 15, flow)[1]];
  EXPECT_EQ(flows.size(), 8u);
  for (const auto& [link, count] : flows) EXPECT_NEAR(count, 100, 40);
}

// Returns for each dimension of a torus the numbers of (source, destination) pairs of an all-to-all that cross each
// link.
std::vector<std::vector<int>> torus_load(const std::vector<std::int64_t>& dimensions) {
  TorusSpec spec{dimensions, {{25e9}, Time::from_ns(700)}};
  const Torus topology(spec, 1, example_nic());
  std::vector<std::vector<int>> load(dimensions.size());
  std::vector<int> pairs(topology.links().size());
  for (EndpointId a = 0; a < topology.endpoints(); ++a) {
    for (EndpointId b = 0; b < topology.endpoints(); ++b) {
      if (a == b) continue;
      for (const LinkId link : path(topology, a, b)) ++pairs[link];
    }
  }
  for (LinkId link = 2 * topology.endpoints(); link < pairs.size(); ++link) {
    const std::string& name = topology.links()[link].name;
    load[static_cast<std::size_t>(name[name.find('d', 4) + 1] - '0')].push_back(pairs[link]);
  }
  return load;
}

// Within a ring of even size k, 1 + ... + (k/2 - 1) + k/4 = k*k/8 pairs of positions cross each link in each direction.
// Each pair of positions stands for nodes / k destinations, so the load is nodes x k / 8. On 16 x 8, 256 pairs cross
// each link of the long dimension: 64 x 64 pairs cross the bisection, over 16 links per direction.
TEST(Torus, AllToAllLoadsEveryLinkOfADimensionAlike) {
  const auto check = [](const std::vector<std::int64_t>& dimensions, const std::vector<int>& expected) {
    const auto load = torus_load(dimensions);
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      EXPECT_THAT(load[d], testing::Each(expected[d])) << "dimension " << d;
    }
  };
  check({16, 8}, {64 * 64 / 16, 128});
  check({8, 8}, {64, 64});
  check({8}, {8});
  check({4, 4, 4}, {32, 32, 32});
  check({5, 3}, {9, 5});  // odd: (k*k - 1) / 8 x nodes / k
}

TEST(Torus, PathLengthIsTheDistanceAndTranslationsKeepIt) {
  const auto topology = make(torus_16x8, 128);
  const auto move = [](EndpointId node, std::uint32_t x, std::uint32_t y) {
    return (node % 16 + x) % 16 + 16 * ((node / 16 + y) % 8);
  };
  const auto ring = [](std::uint32_t a, std::uint32_t b, std::uint32_t k) {
    const std::uint32_t d = a > b ? a - b : b - a;
    return std::min(d, k - d);
  };
  for (EndpointId a = 0; a < 128; ++a) {
    for (EndpointId b = 0; b < 128; ++b) {
      const std::size_t hops = ring(a % 16, b % 16, 16) + ring(a / 16, b / 16, 8);
      EXPECT_EQ(path(*topology, a, b).size(), hops + 2);
      for (const auto& [x, y] : {std::pair{1u, 0u}, {0u, 1u}, {5u, 3u}, {15u, 7u}}) {
        ASSERT_EQ(path(*topology, move(a, x, y), move(b, x, y)).size(), hops + 2);
      }
    }
  }
}

TEST(Torus, PathStepsBetweenNeighbours) {
  const auto topology = make(torus_16x8, 128);
  std::vector<std::string> names;
  for (const LinkId link : path(*topology, 15, 16 * 7 + 1)) names.push_back(topology->links()[link].name);
  EXPECT_THAT(names, testing::ElementsAre("nic15.out", "node15.d0+", "node0.d0+", "node1.d1-", "nic113.in"));
}

// A path has two NIC cables and up to three links between routers, and passes one router more than it has such links.
TEST(Dragonfly, LatenciesOfTheWaysWithinAndBetweenGroups) {
  const auto topology = make(dragonfly(1), 40);
  const auto ns = [&](EndpointId a, EndpointId b) { return latency(*topology, a, b); };
  const Time nics = Time::from_ns(200 + 25 + 25 + 200);
  EXPECT_EQ(ns(0, 1), nics + Time::from_ns(350));                 // same router
  EXPECT_EQ(ns(0, 2), nics + Time::from_ns(2 * 350 + 10));        // two routers of a group
  EXPECT_EQ(ns(0, 8), nics + Time::from_ns(3 * 350 + 100 + 10));  // router 0 has the link to the next group
  EXPECT_EQ(ns(2, 8 + 4), nics + Time::from_ns(4 * 350 + 10 + 100 + 10));
  EXPECT_THAT(refusal(dragonfly(1), 41),
              testing::HasSubstr("5 groups of 4 routers with 2 nodes each make 40 nodes, but the system has 41"));
  std::string errors;
  from(dragonfly(0), &errors);
  EXPECT_THAT(errors,
              testing::HasSubstr("a group has 0 global links, but there are 4 other groups; set global_links to at "
                                 "least 1"));
}

TEST(Dragonfly, MoreLinksThanMemoryAreRefused) {
  const std::string links =
      ", local_link: {bandwidth: 1 Gb/s, latency: 1 ns}, global_link: {bandwidth: 1 Gb/s, latency: 1 "
      "ns}, switch_latency: 1 ns}";
  const std::string one = "nodes_per_router: 1, global_links: 4095" + links;
  EXPECT_THAT(refusal("dragonfly: {groups: 4096, routers_per_group: 1, " + one, 4096),
              testing::HasSubstr("the fabric would have 1.68e+07 links, but at most 2e+06 can be simulated"));
  EXPECT_THAT(refusal("dragonfly: {groups: 2, routers_per_group: 4096, " + one, 8192), testing::HasSubstr("links"));
  EXPECT_THAT(refusal("fat_tree: {nodes_per_leaf: 1024, spines: 1000, planes: 16, switch_latency: 1 ns}", 65536, 8),
              testing::HasSubstr("use fewer planes or spines"));
}

// With minimal routing, 8 x 8 pairs use the link between two groups. With valiant routing, each pair of endpoints in
// different groups uses two global links.
TEST(Dragonfly, AllToAllLoadsGlobalLinks) {
  const auto load = [](const std::string& yaml) {
    const auto topology = make(yaml, 40);
    std::vector<int> pairs;
    for (EndpointId a = 0; a < 40; ++a) {
      for (EndpointId b = 0; b < 40; ++b) {
        for (const LinkId link : path(*topology, a, b)) {
          pairs.resize(topology->links().size());
          if (topology->links()[link].bandwidth.value == 50e9) ++pairs[link];
        }
      }
    }
    std::erase(pairs, 0);
    return pairs;
  };
  for (const char* routers : {"", ", spines_per_group: 4"}) {
    EXPECT_THAT(load(dragonfly(1, routers)), testing::AllOf(testing::SizeIs(20), testing::Each(64)));
    const std::vector<int> valiant = load(dragonfly(1, std::string(routers) + ", routing: valiant"));
    EXPECT_THAT(valiant, testing::SizeIs(20));
    EXPECT_EQ(std::accumulate(valiant.begin(), valiant.end(), 0), 2 * 20 * 64);
  }
}

TEST(Dragonfly, AnotherSeedGoesOtherWays) {
  const auto ways = [](int seed) {
    const auto topology = make(dragonfly(2, fmt::format(", routing: valiant, seed: {}", seed)), 40);
    std::vector<std::vector<LinkId>> all;
    for (EndpointId b = 8; b < 40; ++b) all.push_back(path(*topology, 0, b));
    return all;
  };
  EXPECT_EQ(ways(1), ways(1));
  EXPECT_NE(ways(1), ways(2));
}

// With static routing, a queue pair has the bandwidth of one plane. All planes together, or one trunk with adaptive
// routing, have the bandwidth of the NIC.
TEST(Planes, AQueuePairKeepsToOne) {
  const std::string yaml = "rail_fat_tree: {nodes_per_leaf: 4, spines: 2, planes: 2, switch_latency: 150 ns, routing: ";
  const auto topology = make(yaml + "static}", 8);
  const auto adaptive = make(yaml + "adaptive}", 8);
  const auto one_plane = make(std::string(rail), 8);
  std::set<std::string> planes;
  for (std::uint32_t flow = 0; flow < 16; ++flow) {
    const auto links = path(*topology, 1, 5, flow);
    ASSERT_EQ(links.size(), 6u);
    const auto name = [&](std::size_t at) { return topology->links()[links[at]].name; };
    const std::string plane = name(1).substr(0, 11);  // nic1.plane0
    planes.insert(plane);
    EXPECT_EQ(name(1), plane + ".out");
    EXPECT_THAT(name(2), testing::MatchesRegex("leaf0." + plane.substr(5) + ".spine[01].up"));
    EXPECT_THAT(name(3), testing::MatchesRegex("leaf1." + plane.substr(5) + ".spine[01].down"));
    EXPECT_EQ(topology->links()[links[1]].bandwidth.value, 12.5e9);
    EXPECT_EQ(topology->links()[links[2]].bandwidth.value, 25e9);  // 4 ports of 12.5 GB/s over 2 spines
  }
  EXPECT_THAT(planes, testing::SizeIs(2));
  EXPECT_EQ(latency(*topology, 1, 5), latency(*one_plane, 1, 5));
  EXPECT_EQ(adaptive->links().size(), 2 * 8 + 2 * 2u);
}

// Packets of a queue pair take all planes and spines in turns. Between two NICs of one leaf, they take all planes in
// turns and use no spine.
TEST(PerPacket, RoutesAreAllPlanesAndSpines) {
  const auto topology =
      make("rail_fat_tree: {nodes_per_leaf: 4, spines: 2, planes: 2, switch_latency: 150 ns, routing: per_packet}", 8);
  ASSERT_EQ(topology->routes(1, 5), 4u);
  ASSERT_EQ(topology->routes(1, 2), 2u);
  std::set<std::vector<LinkId>> far, near;
  for (std::uint32_t route = 0; route < 4; ++route) {
    far.insert(path(*topology, 1, 5, route));
    near.insert(path(*topology, 1, 2, route));
    EXPECT_EQ(path(*topology, 1, 5, route).front(), 2u);
  }
  EXPECT_THAT(far, testing::SizeIs(4));
  EXPECT_THAT(near, testing::SizeIs(2));
  EXPECT_EQ(make(std::string(rail), 8)->routes(1, 5), 1u);
}

// Every endpoint sends 16 MiB over the spines to another endpoint. With static routing, queue pairs that share a spine
// slow each other down. With per-packet routing, packets take all spines and need nearly the time of adaptive routing.
TEST(PerPacket, LiesBetweenStaticAndAdaptive) {
  const auto time = [](const char* routing) {
    const auto topology = make(
        fmt::format("fat_tree: {{nodes_per_leaf: 8, spines: 4, switch_latency: 150 ns, routing: {}}}", routing), 16);
    core::RunLoop loop;
    core::QueueNetwork network(loop, *topology);
    struct Last : core::Receiver {
      void arrives(std::uint64_t, Time when) override { at = std::max(at, when); }
      Time at;
    } last;
    for (EndpointId e = 0; e < 16; ++e) network.send({e, (e + 8) % 16, 0, Bytes{16 << 20}, &last, 0});
    loop.run();
    EXPECT_EQ(network.injected(), network.delivered());
    return last.at.us();
  };
  const double wire = (16 << 20) / 25e9 * 1e6;
  EXPECT_GT(time("static"), 1.3 * wire);
  EXPECT_LT(time("per_packet"), 1.05 * wire);
  EXPECT_LE(time("adaptive"), time("per_packet"));
}

// A platform file with two switches of two hosts each, and one trunk between the switches. The hosts are, in the order
// of their names, host2, host9, host10 and host11.
class PlatformFile : public testing::Test {
 protected:
  void SetUp() override { write(text("host11")); }
  static std::string text(const std::string& last) {
    const auto cluster = [](const std::string& id, const std::string& hosts) {
      return "<cluster id='" + id + "' prefix='host' radical='" + hosts +
             "' suffix='' speed='1Gf' bw='12.5GBps' lat='300ns' sharing_policy='SPLITDUPLEX' router_id='" + id + "r'/>";
    };
    return "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'><platform version='4.1'>"
           "<zone id='all' routing='Full'>" +
           cluster("a", "10,2") + cluster("b", "9," + last.substr(4)) +
           "<link id='trunk' bandwidth='10GBps' latency='1us'/><zoneRoute src='a' dst='b' gw_src='ar' gw_dst='br'>"
           "<link_ctn id='trunk'/></zoneRoute></zone></platform>";
  }
  void write(const std::string& content) const { std::ofstream(file_) << content; }
  std::string yaml() const { return "platform: {file: " + file_ + "}"; }
  const std::string file_ = testing::TempDir() + fmt::format("moire_platform_{}.xml", getpid());
  ~PlatformFile() override { std::remove(file_.c_str()); }
};

TEST_F(PlatformFile, HostsAreNicsAndRoutesAreTheirs) {
  const auto topology = make(yaml(), 2, 2);
  const auto names = [&](EndpointId a, EndpointId b) {
    std::vector<std::string> all;
    for (const LinkId link : path(*topology, a, b)) all.push_back(topology->links()[link].name);
    return all;
  };
  // Endpoints are in the order host2, host9, host10, host11; host2 and host10 are on one switch.
  EXPECT_THAT(names(0, 2), testing::SizeIs(4));
  EXPECT_THAT(names(0, 1), testing::SizeIs(5));
  EXPECT_THAT(names(0, 1), testing::Contains("platform.trunk"));
  EXPECT_EQ(names(0, 1).front(), "nic0.out");
  EXPECT_EQ(names(1, 0).back(), "nic0.in");
  EXPECT_EQ(latency(*topology, 0, 2), Time::from_ns(200 + 300 + 300 + 200));
  EXPECT_EQ(latency(*topology, 0, 3), Time::from_ns(200 + 300 + 1000 + 300 + 200));
  for (const core::NetworkLink& link : topology->links()) {
    if (link.name == "platform.trunk") {
      EXPECT_EQ(link.bandwidth.value, 10e9);
    }
  }
}

TEST_F(PlatformFile, SaysWhatIsWrong) {
  EXPECT_THAT(refusal(yaml(), 3),
              testing::HasSubstr("has 4 hosts, but the system has 3 NICs; set nodes and node.nics"));
  write("<platform>");
  EXPECT_THAT(refusal(yaml(), 4), testing::HasSubstr("Parse error at " + file_ + ":1"));
  write(
      "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'x'><platform version='4.1'><zone id='z' routing='Full'>"
      "<host id='a' speed='1Gf'/><host id='b' speed='1Gf'/></zone></platform>");
  EXPECT_THAT(refusal(yaml(), 2), testing::HasSubstr("SimGrid cannot read the platform"));  // there is no route
  std::string endless = text("host11");
  endless.replace(endless.find("10GBps"), 6, "0Bps");
  write(endless);
  EXPECT_THAT(refusal(yaml(), 4), testing::HasSubstr("link 'trunk' has 0 B/s"));
  EXPECT_THAT(refusal("platform: {file: nowhere.xml}", 2),
              testing::HasSubstr("the platform 'nowhere.xml': does not exist; name"));
}

struct Counter : core::Receiver {
  void arrives(std::uint64_t, Time at) override {
    ++seen;
    last = std::max(last, at);
  }
  int seen = 0;
  Time last;
};

// The links of the long dimension bound the time of an all-to-all of m bytes per pair on 16 x 8 nodes: it is at least
// 256 m / B, with links of bandwidth B. With queues, these links are nearly always busy.
TEST(Torus, AllToAllIsBoundByTheBisection) {
  const auto topology = make(torus_16x8, 128);
  core::RunLoop loop;
  core::QueueNetwork network(loop, *topology);
  Counter counter;
  const double m = 128 * 1024;
  for (std::uint32_t k = 1; k < 128; ++k) {
    for (EndpointId s = 0; s < 128; ++s) network.send({s, (s + k) % 128, 0, Bytes{m}, &counter, 0});
  }
  loop.run();
  const double bound = 256 * m / 25e9;
  EXPECT_EQ(counter.seen, 128 * 127);
  EXPECT_GE(counter.last.seconds(), bound);
  RecordProperty("over_bound_percent", std::to_string(100 * (counter.last.seconds() / bound - 1)));
  EXPECT_LE(counter.last.seconds(), 1.25 * bound);
}

// An All-to-All over three ranks sends thirds of bytes. Comparing the bytes sent with the bytes delivered to the last
// bit used to end the run with exit status 70.
TEST(Networks, ConserveMessagesOfFractionsOfBytes) {
  core::RunLoop loop;
  part::Site site(loop, 3, 1, part::Reach(1, false), {});
  Networks networks(site, make("star: {switch_latency: 100 ns}", 3), false);
  Counter counter;
  for (std::uint32_t k = 1; k < 3; ++k) {
    for (EndpointId s = 0; s < 3; ++s) networks.network(0).send({s, (s + k) % 3, 0, Bytes{524288.0 / 3}, &counter, 0});
  }
  loop.run();
  EXPECT_EQ(counter.seen, 6);
  EXPECT_NO_THROW(networks.check_conservation());
}

TEST(FabricSpec, SaysWhatIsWrong) {
  std::string errors;
  from("{}", &errors);
  EXPECT_THAT(errors, testing::HasSubstr("0 kinds of fabric are given; write one of direct, star"));
  from("{direct: {}, star: {switch_latency: 1 ns}}", &errors);
  EXPECT_THAT(errors, testing::HasSubstr("2 kinds of fabric are given"));
  from("torus: {dimensions: [], link: {bandwidth: 200 Gb/s, latency: 700 ns}}", &errors);
  EXPECT_THAT(errors, testing::HasSubstr("the torus has no dimensions"));
  from("torus: {dimensions: [16, 1], link: {bandwidth: 200 Gb/s, latency: 700 ns}}", &errors);
  EXPECT_THAT(errors, testing::HasSubstr("fabric.yaml:1"));
  EXPECT_EQ(refusal(torus_16x8, 64),
            "torus dimensions 16 x 8 make 128 nodes, but the system has 64; choose dimensions whose product is 64");
}

// Returns the value that Topology::turns() must have, found by comparing all routes.
bool turns(const Topology& topology, EndpointId by) {
  const EndpointId all = topology.endpoints();
  for (EndpointId a = 0; a < all; ++a) {
    for (EndpointId b = 0; b < all; ++b) {
      for (std::uint32_t flow = 0; flow < 3; ++flow) {
        std::vector<LinkId> moved;
        const std::vector<LinkId> links = path(topology, a, b, flow);
        for (const LinkId link : links) moved.push_back(topology.turned(link, by));
        const bool stays =
            std::any_of(links.begin(), links.end(), [&](LinkId link) { return topology.turned(link, by) == link; });
        if (!stays && moved != path(topology, (a + by) % all, (b + by) % all, flow)) return false;
      }
    }
  }
  return true;
}

// If nodes may change places, then in every such order a route has as many links, of the same rates and latencies and
// with homes at the nodes in the same places, as before.
TEST(Turns, NodesBelowOneLeafMayHaveAnyOrder) {
  const auto leaf = [](const std::string& kind, int nodes_per_leaf, int planes = 1) {
    return fmt::format("{}: {{nodes_per_leaf: {}, spines: 2, planes: {}, switch_latency: 200 ns}}", kind,
                       nodes_per_leaf, planes);
  };
  const std::vector<std::pair<std::string, bool>> cases = {
      {"star: {switch_latency: 200 ns}", true},
      {leaf("fat_tree", 6), true},
      {leaf("rail_fat_tree", 6), true},
      {leaf("fat_tree", 3), false},
      {leaf("rail_fat_tree", 3), false},
      {leaf("fat_tree", 6, 2), false},
      {"torus: {dimensions: [6], link: {bandwidth: 200 Gb/s, latency: 700 ns}}", false},
  };
  const std::vector<EndpointId> order = {4, 2, 0, 5, 1, 3};
  const auto to = [&](EndpointId e) { return order[e / 2] * 2 + e % 2; };
  for (const auto& [yaml, any] : cases) {
    const auto topology = make(yaml, 6, 2);
    ASSERT_NE(topology, nullptr) << yaml;
    EXPECT_EQ(topology->any_order(2), any) << yaml;
    for (EndpointId a = 0; any && a < 12; ++a) {
      for (EndpointId b = 0; b < 12; ++b) {
        const std::vector<LinkId> before = path(*topology, a, b), after = path(*topology, to(a), to(b));
        ASSERT_EQ(before.size(), after.size()) << yaml;
        for (std::size_t i = 0; i < before.size(); ++i) {
          const bool shared = topology->turned(before[i], 2) == before[i];
          EXPECT_EQ(shared, topology->turned(after[i], 2) == after[i]);
          if (!shared) {
            EXPECT_EQ(to(topology->home(before[i])), topology->home(after[i])) << yaml;
          }
        }
      }
    }
  }
}

TEST(Turns, WhatAFabricSaysOfItselfIsSoOfAllRoutes) {
  struct Case {
    std::string yaml;
    std::int64_t nodes, nics;
    std::vector<EndpointId> turn;  // the values for which turns() is true, among whole nodes
  };
  const std::string star = "star: {switch_latency: 200 ns}";
  const auto leaves = [](const std::string& kind, int nodes_per_leaf, int spines, const std::string& routing) {
    return fmt::format("{}: {{nodes_per_leaf: {}, spines: {}, switch_latency: 200 ns, routing: {}}}", kind,
                       nodes_per_leaf, spines, routing);
  };
  const auto torus = [](const std::string& dimensions) {
    return "torus: {dimensions: " + dimensions + ", link: {bandwidth: 200 Gb/s, latency: 700 ns}}";
  };
  const std::vector<Case> cases = {
      {star, 3, 2, {2, 4}},
      {leaves("fat_tree", 2, 4, "adaptive"), 6, 2, {4, 8}},
      {leaves("rail_fat_tree", 2, 4, "adaptive"), 6, 2, {4, 8}},
      {leaves("fat_tree", 2, 1, "static"), 6, 2, {4, 8}},
      {leaves("rail_fat_tree", 2, 2, "static"), 6, 2, {}},
      {leaves("rail_fat_tree", 6, 2, "static"), 6, 2, {2, 4, 6, 8, 10}},
      {leaves("rail_fat_tree", 4, 4, "adaptive"), 6, 2, {}},
      {torus("[4]"), 4, 1, {2}},
      {torus("[5]"), 5, 2, {2, 4, 6, 8}},
      {torus("[3, 5]"), 15, 1, {3, 6, 9, 12}},
      {torus("[4, 3]"), 12, 1, {}},
      {torus("[3, 4]"), 12, 1, {6}},
      {torus("[4, 6]"), 24, 2, {16, 32}},
      {"rail_fat_tree: {nodes_per_leaf: 6, spines: 2, planes: 2, switch_latency: 200 ns}", 6, 2, {}},
      {dragonfly(1), 40, 1, {8, 16, 24, 32}},
      {dragonfly(3, ", routing: valiant"), 40, 2, {16, 32, 48, 64}},
      {dragonfly(2, ", spines_per_group: 3, routing: valiant"), 40, 1, {8, 16, 24, 32}},
  };
  for (const Case& one : cases) {
    const auto topology = make(one.yaml, one.nodes, one.nics);
    for (EndpointId by = static_cast<EndpointId>(one.nics); by < topology->endpoints();
         by += static_cast<EndpointId>(one.nics)) {
      const bool expected = std::find(one.turn.begin(), one.turn.end(), by) != one.turn.end();
      EXPECT_EQ(topology->turns(by), expected) << one.yaml << " by " << by;
      if (expected) {
        EXPECT_TRUE(turns(*topology, by)) << one.yaml << " by " << by;
      }
      // If a link is mapped to another link, its home must be mapped in the same way.
      for (LinkId link = 0; expected && link < topology->links().size(); ++link) {
        if (topology->turned(link, by) == link) continue;
        EXPECT_EQ((topology->home(link) + by) % topology->endpoints(), topology->home(topology->turned(link, by)))
            << topology->links()[link].name;
      }
    }
  }
}

}  // namespace
}  // namespace moire::fabric
