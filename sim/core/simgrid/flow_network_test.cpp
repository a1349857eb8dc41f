// Every simulation runs in a forked child, because a process can hold only one SimGrid engine.
#include "sim/core/simgrid/flow_network.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "sim/core/invariant.hpp"
#include "sim/core/queue_network.hpp"

namespace moire::core::flow {
namespace {

constexpr double MiB = 1024 * 1024;
constexpr BytesPerSecond port{50e9};
constexpr Time hop = Time::from_ns(500);

// Leaf switches with four endpoints each under `spines` spine switches. A leaf switch has as much bandwidth to the
// spine switches as to its endpoints. If `spines` is 0, there is one switch for all endpoints.
class Switches : public Topology {
 public:
  Switches(std::uint32_t endpoints, std::uint32_t spines) : endpoints_(endpoints), spines_(spines) {
    for (std::uint32_t i = 0; i < 2 * endpoints; ++i) links_.push_back({"port", port, hop});
    if (spines == 0) return;
    for (std::uint32_t i = 0; i < 2 * spines * endpoints / 4; ++i) {
      links_.push_back({"trunk", port * (4.0 / spines), hop});
    }
  }
  std::uint32_t endpoints() const override { return endpoints_; }
  EndpointId home(LinkId link) const override {
    return link < 2 * endpoints_ ? link / 2 : (link - 2 * endpoints_) / (2 * spines_) * 4;
  }
  const std::vector<NetworkLink>& links() const override { return links_; }
  void route(EndpointId source, EndpointId destination, std::uint32_t flow, std::vector<LinkId>& path) const override {
    path.push_back(2 * source);
    if (spines_ > 0 && source / 4 != destination / 4) {
      const std::uint32_t spine = (source * 2654435761u ^ destination * 40503u ^ flow) >> 3 & (spines_ - 1);
      path.push_back(2 * (endpoints_ + source / 4 * spines_ + spine));
      path.push_back(2 * (endpoints_ + destination / 4 * spines_ + spine) + 1);
    }
    path.push_back(2 * destination + 1);
  }

 private:
  std::uint32_t endpoints_, spines_;
  std::vector<NetworkLink> links_;
};

// The messages of two sources share a link with half the bandwidth of their ports. Only the second source's messages
// continue over one more link, which has nine times the latency of each other link.
class TwoHops : public Topology {
 public:
  std::uint32_t endpoints() const override { return 4; }
  EndpointId home(LinkId) const override { return 0; }
  const std::vector<NetworkLink>& links() const override { return links_; }
  void route(EndpointId source, EndpointId, std::uint32_t, std::vector<LinkId>& path) const override {
    path = source == 0 ? std::vector<LinkId>{0, 2} : std::vector<LinkId>{1, 2, 3};
  }

 private:
  std::vector<NetworkLink> links_{
      {"a", port, hop}, {"b", port, hop}, {"middle", port * 0.5, hop}, {"c", port, hop * 9}};
};

struct Sent {
  EndpointId source, destination;
  double bytes;
  std::uint32_t flow = 0;
  Time at{};
};
using Traffic = std::vector<Sent>;

// Sends each message at its time and records when it arrives.
struct Player : EventSink, Receiver {
  Player(Calendar& c, Network& n, const Traffic& t) : calendar(c), network(n), traffic(t), arrived(t.size()) {
    for (std::size_t i = 0; i < t.size(); ++i) c.schedule(t[i].at, *this, i);
  }
  void fire(std::uint64_t payload) override {
    const Sent& sent = traffic[payload];
    network.send({sent.source, sent.destination, sent.flow, Bytes{sent.bytes}, this, payload});
  }
  void arrives(std::uint64_t payload, Time at) override { arrived[payload] = at; }
  Calendar& calendar;
  Network& network;
  const Traffic& traffic;
  std::vector<Time> arrived;
};

using Dates = std::vector<Time>;

Dates in_child(const std::function<Dates()>& run) {
  std::fflush(nullptr);  // otherwise the child would write buffered output again
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const Dates dates = run();
    const auto size = static_cast<ssize_t>(dates.size() * sizeof(Time));
    _exit(write(ends[1], dates.data(), static_cast<std::size_t>(size)) == size ? 0 : 1);
  }
  close(ends[1]);
  Dates dates;
  for (Time date; read(ends[0], &date, sizeof date) == sizeof date;) dates.push_back(date);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return dates;
}

Dates by_flow(const Topology& topology, const Traffic& traffic) {
  return in_child([&] {
    RunLoop loop;
    FlowNetwork network(loop, topology);
    Player player(loop.calendar(), network, traffic);
    run_with_simgrid(loop, network);
    EXPECT_EQ(network.injected().value, network.delivered().value);
    return testing::Test::HasFailure() ? Dates{} : player.arrived;
  });
}

Dates by_queue(const Topology& topology, const Traffic& traffic) {
  RunLoop loop;
  QueueNetwork network(loop, topology);
  Player player(loop.calendar(), network, traffic);
  loop.run();
  EXPECT_EQ(network.injected().value, network.delivered().value);
  return player.arrived;
}

Time last(const Dates& dates) { return *std::max_element(dates.begin(), dates.end()); }

MATCHER_P(IsWithin1Ns, us, "") { return std::abs(arg.us() - us) <= 1e-3; }

TEST(FlowNetwork, OneMessageTakesTheClosedForm) {
  for (const double bytes : {1.0, 1000.5, 65536.0, 100 * MiB}) {
    const double us = 1.0 + bytes / 50e9 * 1e6;
    EXPECT_THAT(by_flow(Switches(4, 0), {{0, 1, bytes}}), testing::ElementsAre(IsWithin1Ns(us)));
    EXPECT_THAT(by_flow(Switches(8, 2), {{0, 7, bytes, 0, Time::from_us(3)}}),
                testing::ElementsAre(IsWithin1Ns(us + 4)));
  }
}

// SimGrid's clock and Moire's clock still agree long after the start: 10 s are 10^13 ps.
TEST(FlowNetwork, LateMessagesAreAsExact) {
  const Time late = Time::from_seconds(10);
  for (const Time date : by_flow(Switches(4, 0), {{0, 1, 50e3, 0, late}, {2, 3, 50e3, 0, late + Time{1}}})) {
    EXPECT_NEAR(static_cast<double>((date - late).ps), 2e6, 3);
  }
}

TEST(FlowNetwork, EqualFlowsShareALinkEqually) {
  for (std::uint32_t n = 2; n <= 8; ++n) {
    Traffic traffic;
    for (std::uint32_t s = 1; s <= n; ++s) traffic.push_back({s, 0, MiB});
    EXPECT_THAT(by_flow(Switches(9, 0), traffic), testing::Each(IsWithin1Ns(1.0 + n * MiB / 50e9 * 1e6)));
  }
}

// The link that both messages share limits both. Both get the same share, although their paths have different
// latencies.
TEST(FlowNetwork, SharedBottleneckIsSplitWhateverTheLatency) {
  const double wire = 2 * MiB / 25e9 * 1e6;
  EXPECT_THAT(by_flow(TwoHops(), {{0, 2, MiB}, {1, 3, MiB}}),
              testing::ElementsAre(IsWithin1Ns(wire + 1.0), IsWithin1Ns(wire + 5.5)));
}

// Messages of a channel leave no gap on the wire, and each arrives with its own last byte.
TEST(FlowNetwork, QueuedMessagesFollowEachOther) {
  const Traffic traffic = {{0, 1, MiB}, {0, 1, 1000}, {0, 1, 2000}, {0, 1, 6 * MiB}, {0, 1, 3000}};
  const Dates dates = by_flow(Switches(4, 0), traffic);
  ASSERT_EQ(dates.size(), traffic.size());
  double bytes = 0;
  for (std::size_t i = 0; i < dates.size(); ++i) {
    bytes += traffic[i].bytes;
    EXPECT_THAT(dates[i], IsWithin1Ns(1.0 + bytes / 50e9 * 1e6));
  }
}

TEST(FlowNetwork, UseCountsBytesPerLink) {
  const Dates dates = in_child([] {
    const Switches topology(4, 0);
    const Traffic traffic = {{0, 1, MiB}, {2, 1, MiB}};
    RunLoop loop;
    FlowNetwork network(loop, topology);
    Player player(loop.calendar(), network, traffic);
    run_with_simgrid(loop, network);
    const auto use = network.use();
    return Dates{Time{std::llround(use[0].carried.value)}, Time{std::llround(use[3].carried.value)}, use[3].busy,
                 Time{static_cast<std::int64_t>(network.communications())}};
  });
  EXPECT_THAT(dates, testing::ElementsAre(Time{1 << 20}, Time{2 << 20}, duration(Bytes{2 * MiB}, port), Time{2}));
}

Traffic all_to_all(std::uint32_t n, double bytes) {
  Traffic traffic;
  for (std::uint32_t k = 1; k < n; ++k) {
    for (std::uint32_t s = 0; s < n; ++s) traffic.push_back({s, (s + k) % n, bytes});
  }
  return traffic;
}

TEST(FlowNetwork, SameRunTwiceIsTheSame) {
  const Traffic traffic = all_to_all(8, MiB);
  const Dates first = by_flow(Switches(8, 2), traffic);
  EXPECT_EQ(first, by_flow(Switches(8, 2), traffic));
}

TEST(FlowNetwork, SecondOneInAProcessIsRefused) {
  EXPECT_THAT(in_child([] {
                const Switches topology(2, 0);
                RunLoop loop;
                { const FlowNetwork network(loop, topology); }
                try {
                  const FlowNetwork again(loop, topology);
                } catch (const InvariantError&) {
                  return Dates{Time{1}};
                }
                return Dates{};
              }),
              testing::ElementsAre(Time{1}));
}

struct Thrower : Receiver {
  void arrives(std::uint64_t, Time) override { throw std::runtime_error("from an event"); }
};

TEST(FlowNetwork, ExceptionsOfEventsComeOut) {
  EXPECT_THAT(in_child([] {
                const Switches topology(2, 0);
                RunLoop loop;
                FlowNetwork network(loop, topology);
                Thrower sink;
                network.send({0, 1, 0, Bytes{1000}, &sink, 0});
                try {
                  run_with_simgrid(loop, network);
                } catch (const std::runtime_error&) {
                  return Dates{Time{1}};
                }
                return Dates{};
              }),
              testing::ElementsAre(Time{1}));
}

// FlowNetwork and QueueNetwork must agree: the times of a whole exchange differ by at most 2 %. This limit was set
// before the first comparison.
struct Case {
  const char* name;
  std::uint32_t endpoints, spines;
  Traffic traffic;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

Traffic incast(std::uint32_t n, double bytes) {
  Traffic traffic;
  for (std::uint32_t s = 1; s <= n; ++s) traffic.push_back({s, 0, bytes});
  return traffic;
}

Traffic permutation(std::uint32_t n, std::uint32_t step, double bytes) {
  Traffic traffic;
  for (std::uint32_t s = 0; s < n; ++s) traffic.push_back({s, (s * step + 5) % n, bytes});
  return traffic;
}

class Agreement : public testing::TestWithParam<Case> {};

TEST_P(Agreement, QueueAndFlowEndTogether) {
  const Case& c = GetParam();
  const Switches topology(c.endpoints, c.spines);
  const Dates flow = by_flow(topology, c.traffic);
  const Dates queue = by_queue(topology, c.traffic);
  ASSERT_EQ(flow.size(), queue.size());
  RecordProperty("flow_us", std::to_string(last(flow).us()));
  RecordProperty("queue_us", std::to_string(last(queue).us()));
  EXPECT_NEAR(last(queue).us(), last(flow).us(), 0.02 * last(flow).us());
}

INSTANTIATE_TEST_SUITE_P(Small, Agreement,
                         testing::Values(Case{"one_4KiB", 4, 0, {{0, 1, 4096}}},
                                         Case{"one_16MiB", 8, 2, {{0, 7, 16 * MiB}}},
                                         Case{"incast_2", 9, 0, incast(2, MiB)}, Case{"incast_4", 9, 0, incast(4, MiB)},
                                         Case{"incast_8", 9, 0, incast(8, MiB)},
                                         Case{"incast_8_through_spines", 12, 2, incast(8, 4 * MiB)},
                                         Case{"permutation_16", 16, 2, permutation(16, 1, 4 * MiB)},
                                         Case{"permutation_16_step_3", 16, 2, permutation(16, 3, 4 * MiB)},
                                         Case{"permutation_32_step_7", 32, 2, permutation(32, 7, 8 * MiB)},
                                         Case{"all_to_all_8_star", 8, 0, all_to_all(8, MiB)},
                                         Case{"all_to_all_16_star", 16, 0, all_to_all(16, MiB)},
                                         Case{"all_to_all_8_fat_tree", 8, 2, all_to_all(8, MiB)},
                                         Case{"all_to_all_16_fat_tree", 16, 2, all_to_all(16, MiB)},
                                         Case{"all_to_all_16_fat_tree_4MiB", 16, 2, all_to_all(16, 4 * MiB)}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace moire::core::flow
