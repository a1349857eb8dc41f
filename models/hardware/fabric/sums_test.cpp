// Tests of sums in switches: the closed form of sums.hpp, the order of messages, other traffic, and refusals.
#include "models/hardware/fabric/sums.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "models/hardware/fabric/fabric.hpp"
#include "sim/core/failure.hpp"
#include "sim/core/queue_network.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::fabric {
namespace {

using core::EndpointId;

constexpr double wire = 25e9;
const double piece = core::QueueNetworkSpec{}.chunk.value;

struct Arrivals : core::Receiver {
  void arrives(std::uint64_t payload, Time at) override { seen.emplace_back(payload, at); }
  std::vector<std::pair<std::uint64_t, Time>> seen;
  Time last() const {
    Time latest;
    for (const auto& [payload, at] : seen) latest = std::max(latest, at);
    return latest;
  }
};

struct Later : core::EventSink {
  std::function<void()> call;
  void fire(std::uint64_t) override { call(); }
};

// A fabric of `nodes` nodes with one NIC each, which are one group.
struct Machine {
  explicit Machine(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t images = 1) {
    nic::NicSpec nic;
    nic.bandwidth = {wire};
    nic.latency = Time::from_ns(200);
    nic.pcie_bandwidth = {wire};
    config::Problem error;
    fabric = make_topology(spec, nodes, 1, nic, error);
    EXPECT_TRUE(fabric) << error.str();
    const core::QueueNetworkSpec queues{.chunk = Bytes{piece}, .packet = Bytes{piece}};
    network = std::make_unique<Sums>(loop.calendar(), *fabric,
                                     std::make_unique<core::QueueNetwork>(loop, *fabric, queues), queues.chunk, images);
    std::vector<EndpointId> members(nodes);
    for (EndpointId e = 0; e < nodes; ++e) members[e] = e;
    network->add_group(members);
  }
  void put(EndpointId from, double bytes, std::uint64_t payload = 0, std::uint32_t flow = 0, Time after = {}) {
    network->send({from, Sums::first_group, flow, Bytes{bytes}, &arrivals, payload, after});
  }

  core::RunLoop loop;
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Sums> network;
  Arrivals arrivals;
};

FabricSpec star(double rate = 1e12) {
  FabricSpec spec;
  spec.star = {.switch_latency = Time::from_ns(150), .reduction = ReductionSpec{{rate}, Time::from_ns(300)}};
  return spec;
}
FabricSpec leaves() {
  FabricSpec spec;
  spec.rail_fat_tree.emplace();
  spec.rail_fat_tree->nodes_per_leaf = 4;
  spec.rail_fat_tree->spines = 4;  // trunks as fast as ports
  spec.rail_fat_tree->switch_latency = Time::from_ns(150);
  spec.rail_fat_tree->reduction = star().star->reduction;
  return spec;
}
constexpr double up_and_down = 200 + 25 + 150 + 25 + 200;  // ns, over one switch
constexpr double sum = 300;                                // ns

// A message takes the latency of the way up and down, the latency of an addition in each level of switches, and its
// bytes / slowest rate. Rounding adds at most one picosecond per piece and link.
TEST(Sums, AMessageTakesItsLatenciesAndItsBytesOnce) {
  struct Case {
    FabricSpec fabric;
    std::uint32_t nodes;
    double bytes, ns;
  };
  const double on_wire = 1e9 / wire;
  const Case cases[] = {
      {star(), 8, 1000, up_and_down + sum + 1000 * on_wire},
      {star(), 2, piece, up_and_down + sum + piece * on_wire},
      {star(), 8, 10 * piece, up_and_down + sum + 10 * piece * on_wire},
      {star(10e9), 8, piece, up_and_down + sum + piece / 10},
      {star(10e9), 8, 10 * piece, up_and_down + sum + 10 * piece / 10},
      {leaves(), 4, piece, up_and_down + sum + piece * on_wire},  // one leaf is the root
      {leaves(), 8, piece, up_and_down + 2 * (25 + 150) + 2 * sum + piece * on_wire},
      {leaves(), 16, 10 * piece, up_and_down + 2 * (25 + 150) + 2 * sum + 10 * piece * on_wire},
  };
  for (const Case& one : cases) {
    Machine machine(one.fabric, one.nodes);
    for (EndpointId e = 0; e < one.nodes; ++e) machine.put(e, one.bytes);
    machine.loop.run();
    EXPECT_THAT(machine.arrivals.seen, testing::SizeIs(one.nodes));
    for (const auto& [payload, at] : machine.arrivals.seen)
      EXPECT_NEAR(at.ns(), one.ns, 0.1) << one.nodes << ' ' << one.bytes;
    EXPECT_EQ(machine.network->injected(), machine.network->delivered());
  }
}

// No member gets the sum before the last member has sent. A member whose message has a time `after` gets the sum that
// much later.
TEST(Sums, TheLastMemberDecides) {
  Machine machine(star(), 4);
  for (EndpointId e = 0; e < 3; ++e) machine.put(e, 1000, 0, 0, Time::from_ns(e == 1 ? 50 : 0));
  Later later;
  later.call = [&] { machine.put(3, 1000); };
  machine.loop.calendar().schedule(Time::from_us(9), later, 0);
  machine.loop.run();
  ASSERT_THAT(machine.arrivals.seen, testing::SizeIs(4));
  const double alone = 9000 + up_and_down + sum + 1000 * 1e9 / wire;
  EXPECT_NEAR(machine.arrivals.last().ns(), alone + 50, 0.1);
}

// The first messages of all members are added to each other, then the second messages, and so on, also if a member's
// messages of one flow have different sizes. Messages of each flow are counted separately.
TEST(Sums, MessagesOfAFlowStayInOrder) {
  Machine machine(leaves(), 8);
  for (EndpointId e = 0; e < 8; ++e) {
    machine.put(e, 3 * piece, 1);
    machine.put(e, 100, 2);
    machine.put(e, 100, 3, 7);
  }
  machine.loop.run();
  std::map<std::uint64_t, Time> first, last;
  for (const auto& [payload, at] : machine.arrivals.seen) {
    first.try_emplace(payload, at);
    last[payload] = std::max(last[payload], at);
  }
  EXPECT_EQ(first.size(), 3u);
  EXPECT_LT(last[1], first[2]);
  EXPECT_LT(last[3], first[1]);
}

// Sums share the ports of NICs with other messages.
TEST(Sums, OtherMessagesTakeTheSameLinks) {
  Machine machine(star(), 4);
  const double bytes = 100 * piece;
  for (EndpointId e = 0; e < 4; ++e) machine.put(e, bytes);
  Arrivals other;
  machine.network->send({0, 1, 0, Bytes{bytes}, &other, 0});
  machine.loop.run();
  EXPECT_NEAR(machine.arrivals.last().us(), 2 * bytes / wire * 1e6, 6);
  EXPECT_NEAR(other.last().us(), 2 * bytes / wire * 1e6, 6);
}

TEST(Sums, ABlockCannotStandForAll) {
  Machine machine(star(), 4, 2);
  EXPECT_THROW(machine.put(0, 1000), core::NotAlike);
}

}  // namespace
}  // namespace moire::fabric
