#include "sim/core/queue_network.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>

#include "sim/core/invariant.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::core {
namespace {

constexpr double MiB = 1024 * 1024;

// A topology of explicitly listed links and paths.
class Drawn : public Topology {
 public:
  std::vector<NetworkLink> cables;
  std::vector<std::pair<std::pair<EndpointId, EndpointId>, std::vector<LinkId>>> paths;

  std::uint32_t endpoints() const override { return 64; }
  EndpointId home(LinkId) const override { return 0; }
  const std::vector<NetworkLink>& links() const override { return cables; }
  void route(EndpointId source, EndpointId destination, std::uint32_t, std::vector<LinkId>& path) const override {
    for (const auto& [ends, links] : paths) {
      if (ends == std::pair{source, destination}) path.insert(path.end(), links.begin(), links.end());
    }
  }
};

// One switch: link 2e leads from endpoint e to the switch, link 2e + 1 from the switch to endpoint e.
class Star : public Topology {
 public:
  Star(std::uint32_t endpoints, BytesPerSecond bandwidth, Time latency) : endpoints_(endpoints) {
    for (std::uint32_t link = 0; link < 2 * endpoints; ++link) links_.push_back({"port", bandwidth, latency});
  }
  std::uint32_t endpoints() const override { return endpoints_; }
  EndpointId home(LinkId link) const override { return link / 2; }
  const std::vector<NetworkLink>& links() const override { return links_; }
  void route(EndpointId source, EndpointId destination, std::uint32_t, std::vector<LinkId>& path) const override {
    path.push_back(2 * source);
    path.push_back(2 * destination + 1);
  }

 private:
  std::uint32_t endpoints_;
  std::vector<NetworkLink> links_;
};

struct Arrivals : Receiver {
  void arrives(std::uint64_t payload, Time when) override { at.emplace_back(payload, when); }
  Time last() const {
    Time latest;
    for (const auto& [who, when] : at) latest = std::max(latest, when);
    return latest;
  }
  Time of(std::uint64_t payload) const {
    for (const auto& [who, when] : at) {
      if (who == payload) return when;
    }
    return Time{-1};
  }
  std::vector<std::pair<std::uint64_t, Time>> at;
};

struct Bench {
  explicit Bench(const Topology& topology, QueueNetworkSpec spec = {}) : network(loop, topology, spec) {}
  void send(EndpointId source, EndpointId destination, double bytes, std::uint64_t payload = 0,
            std::uint32_t flow = 0) {
    network.send({source, destination, flow, Bytes{bytes}, &arrivals, payload});
  }
  Time finish() {
    loop.run();
    EXPECT_EQ(network.injected().value, network.delivered().value);
    return arrivals.last();
  }
  RunLoop loop;
  QueueNetwork network;
  Arrivals arrivals;
};

// Endpoint 0 sends to endpoint 1 and alternates between two routes. Links 0 and 3 belong to both routes; link 1 belongs
// to the first, link 2 to the second.
class TwoRoutes : public Drawn {
 public:
  TwoRoutes(double each, Time slow) {
    for (const auto& [bandwidth, latency] : {std::pair{100e9, Time{}}, {each, Time{}}, {each, slow}, {100e9, Time{}}})
      cables.push_back({"link", {bandwidth}, latency});
  }
  std::uint32_t routes(EndpointId, EndpointId) const override { return 2; }
  void route(EndpointId, EndpointId, std::uint32_t number, std::vector<LinkId>& path) const override {
    for (const LinkId link : {0U, 1 + number, 3U}) path.push_back(link);
  }
};

Drawn line(std::vector<NetworkLink> links) {
  Drawn topology;
  topology.cables = std::move(links);
  topology.paths.push_back({{0, 1}, {}});
  for (LinkId link = 0; link < topology.cables.size(); ++link) topology.paths[0].second.push_back(link);
  return topology;
}

// A message without other traffic takes the sum of the latencies + bytes / slowest bandwidth, plus at most 1 ps per
// chunk.
class Alone : public testing::TestWithParam<std::tuple<std::vector<double>, double>> {};

TEST_P(Alone, TakesTheClosedForm) {
  const auto& [gigabytes, bytes] = GetParam();
  std::vector<NetworkLink> links;
  Time latency;
  double slowest = 1e30;
  for (const double rate : gigabytes) {
    links.push_back({"", {rate * 1e9}, Time::from_ns(100.0 * static_cast<double>(links.size() + 1))});
    latency += links.back().latency;
    slowest = std::min(slowest, rate * 1e9);
  }
  const Drawn topology = line(links);
  Bench run(topology);
  run.send(0, 1, bytes);
  const Time exact = latency + duration(Bytes{bytes}, {slowest});
  const Time measured = run.finish();
  EXPECT_GE(measured, exact);
  EXPECT_LE(measured.ps - exact.ps, static_cast<std::int64_t>(std::ceil(bytes / (64 * 1024))));
}

INSTANTIATE_TEST_SUITE_P(
    PathsAndSizes, Alone,
    testing::Combine(testing::Values(std::vector{50.0}, std::vector{50.0, 50.0}, std::vector{100.0, 25.0, 50.0},
                                     std::vector{25.0, 100.0, 12.5, 400.0}, std::vector{10.0, 20.0, 30.0, 40.0}),
                     testing::Values(1.0, 1000.0, 64 * 1024.0, 64 * 1024.0 + 1, MiB, 37.3 * MiB)));

TEST(QueueNetwork, LongLatencyDoesNotStarveThePipe) {
  const Drawn topology = line({{"", {100e9}, Time::from_us(50)}, {"", {100e9}, Time::from_us(50)}});
  Bench run(topology);
  run.send(0, 1, 64 * MiB);
  EXPECT_NEAR(run.finish().us(), 100 + 64 * MiB / 100e9 * 1e6, 0.01);
}

TEST(QueueNetwork, FlowsIntoOneReceiverShareItEqually) {
  for (const std::uint32_t senders : {2u, 4u, 8u}) {
    const Star topology(senders + 1, {50e9}, Time::from_ns(500));
    Bench run(topology);
    for (std::uint32_t s = 1; s <= senders; ++s) run.send(s, 0, 8 * MiB, s);
    const double all = 1.0 + senders * 8 * MiB / 50e9 * 1e6;
    EXPECT_NEAR(run.finish().us(), all, 0.01);
    for (const auto& [sender, when] : run.arrivals.at) EXPECT_GT(when.us(), 0.98 * all) << sender;
  }
}

// A fast link that receives from four slow links carries the sum of their bandwidths: a chunk that arrives slowly does
// not occupy the fast link meanwhile.
TEST(QueueNetwork, FastLinkIsNotHeldBySlowFeeders) {
  Drawn topology;
  for (int link = 0; link < 4; ++link) topology.cables.push_back({"slow", {25e9}, Time::from_ns(100)});
  topology.cables.push_back({"fast", {100e9}, Time::from_ns(100)});
  for (EndpointId s = 0; s < 4; ++s) topology.paths.push_back({{s, 9}, {s, 4}});
  Bench run(topology);
  for (EndpointId s = 0; s < 4; ++s) run.send(s, 9, 4 * MiB);
  EXPECT_NEAR(run.finish().us(), 0.2 + 4 * MiB / 25e9 * 1e6, 64 * 1024 / 25e9 * 1e6);
}

// A queue pair to a congested port does not slow down a queue pair to a free port, because credits stop the queue pair
// to the congested port at the source.
TEST(QueueNetwork, CrowdedDestinationDoesNotBlockTheSource) {
  const Star topology(10, {50e9}, Time::from_ns(500));
  Bench run(topology);
  for (std::uint32_t s = 1; s <= 8; ++s) run.send(s, 0, 8 * MiB, s);
  run.send(1, 9, 8 * MiB, 100);
  run.finish();
  // Max-min fair shares of the source's port: 1/8 goes to the congested port, 7/8 to the free port.
  EXPECT_NEAR(run.arrivals.of(100).us(), 1.0 + 8 * MiB / (7.0 / 8 * 50e9) * 1e6, 0.03 * 190);
}

TEST(QueueNetwork, SourceServesItsQueuePairsRoundRobin) {
  const Star topology(4, {50e9}, Time{});
  Bench run(topology);
  for (std::uint32_t d = 1; d < 4; ++d) run.send(0, d, 3 * MiB, d, d);
  run.send(0, 1, 64 * 1024, 9, 9);  // a small message waits for one round, not for the large ones
  const double chunk = 64 * 1024 / 50e9 * 1e6;
  EXPECT_NEAR(run.finish().us(), (9 * MiB + 64 * 1024) / 50e9 * 1e6, 1e-3);
  EXPECT_NEAR(run.arrivals.of(9).us(), 4 * chunk, 2 * chunk);
}

TEST(QueueNetwork, MessagesOfOneFlowArriveInOrder) {
  const Star topology(9, {50e9}, Time::from_ns(300));
  Bench run(topology);
  const std::vector<double> sizes = {1, 3 * MiB, 17, 64 * 1024, 5, MiB + 1};
  for (std::uint32_t s = 1; s < 9; ++s) {
    for (std::size_t i = 0; i < sizes.size(); ++i) run.send(s, 0, sizes[i], s * 100 + i);
  }
  run.finish();
  std::vector<std::uint64_t> last(9, 0);
  for (const auto& [who, when] : run.arrivals.at) {
    EXPECT_GE(who % 100, last[who / 100]);
    last[who / 100] = who % 100;
  }
  EXPECT_EQ(run.arrivals.at.size(), 8 * sizes.size());
}

TEST(QueueNetwork, AllToAllKeepsEveryPortBusy) {
  const std::uint32_t n = 16;
  const Star topology(n, {50e9}, Time::from_ns(500));
  Bench run(topology);
  for (std::uint32_t k = 1; k < n; ++k) {
    for (std::uint32_t s = 0; s < n; ++s) run.send(s, (s + k) % n, MiB);
  }
  const double wire = (n - 1) * MiB / 50e9 * 1e6;
  EXPECT_NEAR(run.finish().us(), 1.0 + wire, 0.01 * wire);
  for (const LinkUse& use : run.network.use()) {
    EXPECT_EQ(use.carried.value, (n - 1) * MiB);
    EXPECT_NEAR(use.busy.us(), wire, 0.01);
  }
}

TEST(QueueNetwork, UseCountsOnlyWhatHasFlowed) {
  const Star topology(3, {50e9}, Time{});
  Bench run(topology, {.chunk = Bytes{MiB}, .window = 4});
  run.send(0, 1, 16 * MiB);
  run.send(2, 1, 16 * MiB);
  const Time half = Time::from_us(16 * MiB / 50e9 * 1e6);
  run.loop.settle();
  while (run.loop.next_time() < half) run.loop.run_instant();
  const auto use = run.network.use();
  EXPECT_NEAR(use[3].carried.value, run.loop.now().seconds() * 50e9, 1);
  EXPECT_LE(use[3].busy, run.loop.now());
  EXPECT_LT(run.network.delivered().value, run.network.injected().value);
  run.finish();
}

struct Echo : EventSink, Receiver {  // answers every message until its count is used up
  Calendar* calendar = nullptr;
  QueueNetwork* network = nullptr;
  int left = 100;
  void arrives(std::uint64_t payload, Time at) override { calendar->schedule(at, *this, payload); }
  void fire(std::uint64_t payload) override {
    if (left-- == 0) return;
    const auto here = static_cast<EndpointId>(payload);
    network->send({here, 1 - here, 0, Bytes{100}, this, 1 - here});
  }
};

TEST(QueueNetwork, WhatFollowsTheLastByteHoldsNothingUp) {
  // The flows fill their windows, and the receivers of some messages are told much later than the bytes arrive.
  const Star topology(4, {25e9}, Time::from_ns(600));
  const auto arrivals = [&](Time after) {
    Bench run(topology, {.chunk = Bytes{16 * 1024}, .window = 2});
    std::uint64_t payload = 0;
    for (EndpointId source = 1; source < 4; ++source) {
      for (std::uint32_t n = 0; n < 12; ++n) {
        run.network.send(
            {source, 0, n % 2, Bytes{1000.0 + 30000 * n}, &run.arrivals, payload, payload % 3 == 0 ? after : Time{}});
        ++payload;
      }
    }
    run.finish();
    std::vector<Time> at;
    for (std::uint64_t n = 0; n < payload; ++n) at.push_back(run.arrivals.of(n) - (n % 3 == 0 ? after : Time{}));
    return at;
  };
  EXPECT_EQ(arrivals(Time::from_us(50)), arrivals(Time{}));
}

TEST(QueueNetwork, SinkMaySend) {
  const Star topology(2, {50e9}, Time::from_ns(500));
  Bench run(topology);
  Echo echo;
  echo.calendar = &run.loop.calendar();
  echo.network = &run.network;
  run.network.send({0, 1, 0, Bytes{100}, &echo, 1});
  run.finish();
  EXPECT_EQ(run.loop.now(), (Time::from_us(1) + Time::from_ns(2)) * 101);
}

// A flow takes no memory after all its messages have arrived.
TEST(QueueNetwork, FlowsEnd) {
  const Star topology(12, {48e9}, Time::from_ns(317));
  Bench run(topology);
  for (std::uint32_t i = 0; i < 100; ++i) run.send(i % 12, (i + 1) % 12, 100000, i, i);
  run.finish();
  run.loop.calendar().advance_to(run.arrivals.last());
  run.send(0, 1, 1);
  EXPECT_EQ(run.network.open_flows(), 1);
}

// The network forgets a chunk that has arrived as soon as a later chunk of its flow arrives. It does so even if no
// chunk waits for the credits of the first one: here, the 12 chunks of each flow together are smaller than its window.
TEST(QueueNetwork, ChunksThatHaveArrivedAreForgotten) {
  const Star topology(12, {48e9}, Time::from_ns(317));
  Bench run(topology);
  for (EndpointId to = 1; to < 12; ++to) run.send(0, to, 12 * 4096, to, to);
  run.finish();
  EXPECT_EQ(run.network.chunk_hops(), 2 * 11 * 12);
  EXPECT_LE(run.network.known_chunks(), 11 * 3);
}

// A flow that waits for its turn takes no memory for its path while nothing of it is in the fabric. The link sends a
// chunk in 85 ns, so about 20 of 300 flows have a chunk in the fabric at the same time.
TEST(QueueNetwork, WaitingFlowsHaveNoPaths) {
  const Star topology(12, {48e9}, Time::from_ns(317));
  Bench run(topology);
  std::size_t most = 0;
  struct Probe final : EventSink {
    void fire(std::uint64_t) override { *most = std::max(*most, network->known_paths()); }
    std::size_t* most = nullptr;
    QueueNetwork* network = nullptr;
  } probe;
  probe.most = &most;
  probe.network = &run.network;
  constexpr std::uint32_t flows = 300, chunks = 20;
  for (std::uint32_t flow = 0; flow < flows; ++flow) run.send(0, 1 + flow % 11, chunks * 4096, flow, flow);
  for (int us = 1; us < 500; ++us) run.loop.calendar().schedule(Time::from_us(us), probe, 0);
  run.finish();
  EXPECT_GT(run.arrivals.last(), Time::from_us(500));
  EXPECT_GT(most, 10U);
  EXPECT_LT(most, 60U);
}

// Flows end, begin again, and wait for their turns in every order. One destination is far away, so flows do not end in
// the order in which their last chunks pass their last links.
TEST(QueueNetwork, FlowsBeginAgain) {
  Drawn topology;
  topology.cables = {
      {"port", {48e9}, Time::from_ns(317)}, {"near", {48e9}, Time::from_ns(317)}, {"far", {48e9}, Time::from_us(30)}};
  topology.paths = {{{0, 1}, {0, 1}}, {{0, 2}, {0, 2}}};
  Bench run(topology);
  struct Sender final : EventSink {
    void fire(std::uint64_t n) override {
      const auto flow = static_cast<std::uint32_t>(n * n % 131);
      bench->send(0, 1 + flow % 2, 1 + static_cast<double>(n * 7919 % 40000), n, flow);
    }
    Bench* bench = nullptr;
  } sender;
  sender.bench = &run;
  constexpr std::uint64_t messages = 20000;
  for (std::uint64_t n = 0; n < messages; ++n)
    run.loop.calendar().schedule(Time::from_ns(static_cast<double>(n * 3371 % 8500000)), sender, n);
  run.finish();
  EXPECT_EQ(run.arrivals.at.size(), messages);
  run.loop.calendar().advance_to(run.arrivals.last());
  run.send(0, 1, 1);
  EXPECT_EQ(run.network.open_flows(), 1);
  EXPECT_EQ(run.network.known_paths(), 0);
}

TEST(QueueNetwork, SameRunTwiceIsTheSame) {
  const auto trace = [] {
    const Star topology(12, {48e9}, Time::from_ns(317));
    Bench run(topology, {.chunk = Bytes{10000}, .window = 5});
    for (std::uint32_t i = 0; i < 300; ++i) run.send(i * 7 % 12, (i * 5 + 1) % 12, 1 + i * 7919 % 200000, i, i % 3);
    run.finish();
    return run.arrivals.at;
  };
  EXPECT_EQ(trace(), trace());
}

// While few bytes wait at a port, its turns are packets, so that a short message waits for one packet of each other
// flow.
TEST(QueueNetwork, TurnsAreShorterWhereLittleWaits) {
  const Star topology(4, {50e9}, Time{});
  const auto ends = [&](double others) {
    Bench bench(topology);
    bench.send(0, 1, others, 1);
    bench.send(0, 2, others, 2);
    bench.send(0, 3, 4096, 3);
    bench.finish();
    return bench.arrivals.of(3).us();
  };
  const double byte = 1e6 / 50e9;
  EXPECT_NEAR(ends(0.5 * MiB), 3 * 4096 * byte, 1e-3);
  EXPECT_NEAR(ends(32 * MiB), (2 * 16384 + 4096) * byte, 1e-3);
}

TEST(QueueNetwork, RefusesNonsense) {
  const Star topology(2, {50e9}, Time{});
  RunLoop loop;
  EXPECT_THROW(QueueNetwork(loop, topology, {.window = 1}), InvariantError);
  QueueNetwork network(loop, topology);
  EXPECT_THROW(network.send({0, 1, 0, Bytes{0}, nullptr, 0}), InvariantError);
  const Drawn nowhere = line({{"", {1e9}, Time{}}});
  QueueNetwork lost(loop, nowhere);
  Arrivals sink;
  EXPECT_THROW(lost.send({5, 6, 0, Bytes{1}, &sink, 0}), InvariantError);
}

// Two leaf switches with `half` endpoints each, and one slow trunk in each direction. The latency of a link that is on
// no path sets the lookahead.
class TwoLeaves final : public Topology {
 public:
  TwoLeaves(std::uint32_t half, Time lookahead) : half_(half), ports_(2 * half, {50e9}, Time::from_ns(300)) {
    links_ = ports_.links();
    for (int leaf = 0; leaf < 2; ++leaf) links_.push_back({"trunk", {70e9}, Time::from_ns(450)});
    links_.push_back({"unused", {1e9}, lookahead});
  }
  std::uint32_t endpoints() const override { return 2 * half_; }
  const std::vector<NetworkLink>& links() const override { return links_; }
  EndpointId home(LinkId link) const override { return link < 4 * half_ ? link / 2 : 0; }
  void route(EndpointId a, EndpointId b, std::uint32_t flow, std::vector<LinkId>& path) const override {
    ports_.route(a, b, flow, path);
    if (a / half_ != b / half_) path.insert(path.end() - 1, 4 * half_ + a / half_);
  }

 private:
  std::uint32_t half_;
  Star ports_;
  std::vector<NetworkLink> links_;
};

// Sends a message at each of its events.
struct Schedule : EventSink {
  QueueNetwork* network = nullptr;
  std::vector<Message> messages;
  void fire(std::uint64_t number) override { network->send(messages[number]); }
};

// With a lookahead of 1 ps, batches last 1 ps, and every turn and hop is computed at its own time, as events would be.
// Longer batches must give the same arrival times.
TEST(ManyMessages, TimesDoNotDependOnTheLookahead) {
  std::uint64_t seed = 149;
  const auto draw = [&seed](std::uint64_t below) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % below;
  };
  for (int round = 0; round < 40; ++round) {
    const auto half = static_cast<std::uint32_t>(1 + draw(5));
    const QueueNetworkSpec spec{.chunk = Bytes{draw(2) == 0 ? 4096.0 : 16384.0},
                                .window = static_cast<std::int64_t>(2 + draw(4))};
    std::vector<std::pair<Time, Message>> sent;
    const std::uint64_t crowded = draw(4);  // some exchanges have most messages go to one endpoint
    for (int i = 0; i < 200; ++i) {
      const auto from = static_cast<EndpointId>(draw(2 * half));
      auto to = static_cast<EndpointId>(draw(3) < crowded ? 0 : draw(2 * half));
      if (to == from) to = (to + 1) % (2 * half);
      const double bytes = static_cast<double>(1 + draw(std::uint64_t{1} << (1 + draw(18))));
      const Time at{static_cast<std::int64_t>(draw(3) == 0 ? 0 : draw(30'000'000))};
      sent.emplace_back(at, Message{from, to, static_cast<std::uint32_t>(draw(3)), Bytes{bytes}});
    }
    const auto arrivals = [&](Time lookahead) {
      const TwoLeaves topology(half, lookahead);
      Bench bench(topology, spec);
      Schedule schedule;
      schedule.network = &bench.network;
      for (std::uint64_t i = 0; i < sent.size(); ++i) {
        schedule.messages.push_back(sent[i].second);
        schedule.messages.back().receiver = &bench.arrivals;
        schedule.messages.back().payload = i;
        bench.loop.calendar().schedule(sent[i].first, schedule, i);
      }
      bench.finish();
      std::vector<Time> at;
      for (std::uint64_t i = 0; i < sent.size(); ++i) at.push_back(bench.arrivals.of(i));
      return at;
    };
    const std::vector<Time> exact = arrivals(Time{1});
    EXPECT_EQ(arrivals(Time::from_ns(300)), exact);
    EXPECT_EQ(arrivals(Time::from_ns(17)), exact);
  }
}

// A switch forwards messages without delay over links that carry other messages too, and no link has any latency.
TEST(QueueNetwork, SwitchesSendWithoutLatency) {
  struct Forwarder : EventSink, Receiver {
    Bench* bench = nullptr;
    void arrives(std::uint64_t payload, Time at) override { bench->loop.calendar().schedule(at, *this, payload); }
    void fire(std::uint64_t payload) override {  // endpoint 64 is the switch
      bench->network.send({64, static_cast<EndpointId>(payload % 3), 9, Bytes{5000}, &bench->arrivals, payload});
    }
  };
  Drawn topology;
  for (int link = 0; link < 6; ++link) topology.cables.push_back({"port", {50e9}, Time{}});
  for (EndpointId a = 0; a < 3; ++a) {
    topology.paths.push_back({{a, 64}, {2 * a}});
    topology.paths.push_back({{64, a}, {2 * a + 1}});
    for (EndpointId b = 0; b < 3; ++b) topology.paths.push_back({{a, b}, {2 * a, 2 * b + 1}});
  }
  Bench bench(topology);
  Forwarder forwarder;
  forwarder.bench = &bench;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto from = static_cast<EndpointId>(i % 3);
    bench.send(from, (from + 1 + static_cast<EndpointId>(i / 3 % 2)) % 3, 1.0 + 977.0 * static_cast<double>(i % 40), i);
    bench.network.send({from, 64, 1, Bytes{5000}, &forwarder, 1000 + i});
  }
  bench.finish();
  EXPECT_EQ(bench.arrivals.at.size(), 600);
  const double busiest = 100 * (1 + 977.0 * 19.5) + 100 * 5000;  // bytes into an endpoint, on average
  EXPECT_GT(bench.arrivals.last().us(), 0.9 * busiest / 50e9 * 1e6);
  EXPECT_LT(bench.arrivals.last().us(), 2 * busiest / 50e9 * 1e6);
}

// Chunks that reach the port of endpoint d at the same time are served in the order d + 1, d + 2, ... of their sources
// (modulo the number of endpoints), whatever d is and in whatever order the chunks were sent.
TEST(QueueNetwork, TiesDoNotDependOnWhereEndpointZeroIs) {
  const Star topology(4, {10e9}, Time::from_ns(100));
  for (EndpointId destination = 0; destination < 4; ++destination) {
    Bench bench(topology);
    for (EndpointId source = 0; source < 4; ++source)
      if (source != destination) bench.send(source, destination, MiB, source);
    bench.finish();
    Time before{};
    for (EndpointId ahead = 1; ahead < 4; ++ahead) {
      const Time at = bench.arrivals.of((destination + ahead) % 4);
      EXPECT_GT(at, before);
      before = at;
    }
  }
}

// All blocks of `period` endpoints do the same, so a simulation of the first block gives the arrival times of all
// blocks.
TEST(QueueNetwork, OnePeriodOfEndpointsSaysWhatAllSay) {
  class Turning final : public Topology {
   public:
    Turning() : star_(12, {10e9}, Time::from_ns(100)) {}
    std::uint32_t endpoints() const override { return star_.endpoints(); }
    const std::vector<NetworkLink>& links() const override { return star_.links(); }
    void route(EndpointId a, EndpointId b, std::uint32_t flow, std::vector<LinkId>& path) const override {
      star_.route(a, b, flow, path);
    }
    EndpointId home(LinkId link) const override { return link / 2; }
    bool turns(EndpointId) const override { return true; }
    LinkId turned(LinkId link, EndpointId by) const override { return (link + 2 * by) % 24; }

   private:
    Star star_;
  };
  const Turning topology;
  for (const EndpointId period : {12U, 6U, 3U}) {
    RunLoop loop;
    QueueNetwork network(loop, topology, {}, period);
    Arrivals arrivals;
    // Endpoint e sends to the endpoints e + 1, e + 4, e + 6 and e + 11. The numbers of bytes depend on e modulo 3.
    for (EndpointId source = 0; source < period; ++source) {
      for (const EndpointId away : {1U, 4U, 6U, 11U}) {
        const double bytes = (source % 3 + 1) * 0.3 * MiB + away;
        network.send({source, (source + away) % 12, away % 2, Bytes{bytes}, &arrivals, source * 100 + away});
      }
    }
    loop.run();
    static std::vector<std::pair<std::uint64_t, Time>> all;
    if (period == 12) all = arrivals.at;
    EXPECT_EQ(arrivals.at.size(), period * 4);
    for (const auto& [who, when] : arrivals.at) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == who; });
      EXPECT_EQ(same->second, when) << who << " with a period of " << period;
    }
    EXPECT_NEAR(network.injected().value, network.delivered().value, 1e-6);
  }
}

// 16 chunks alternate between two routes of 10 GB/s. The second route begins when the first link has sent one chunk.
TEST(Routes, ChunksTakeThemInTurns) {
  const TwoRoutes topology(10e9, {});
  const double chunk = 16384;
  Bench bench(topology, {.chunk = Bytes{chunk}, .packet = Bytes{chunk}});
  bench.send(0, 1, 16 * chunk);
  EXPECT_NEAR(bench.finish().us(), (8 * chunk / 10e9 + chunk / 100e9) * 1e6, 1e-3);
  const std::vector<LinkUse> use = bench.network.use();
  EXPECT_EQ(use[1].carried.value, use[2].carried.value);
}

// The second chunk of message 1 takes the slow route. Message 2 overtakes this chunk, but does not arrive before
// message 1.
TEST(Routes, MessagesArriveInOrder) {
  const TwoRoutes topology(100e9, Time::from_us(50));
  Bench bench(topology);
  bench.send(0, 1, 2 * 65536, 1);
  bench.send(0, 1, 1000, 2);
  bench.send(0, 1, 1000, 3, 7);  // another flow
  bench.finish();
  EXPECT_NEAR(bench.arrivals.of(1).us(), 50 + 2 * 65536 / 100e9 * 1e6, 0.1);
  EXPECT_EQ(bench.arrivals.of(2), bench.arrivals.of(1));
  EXPECT_LT(bench.arrivals.of(3).us(), 3);
}

}  // namespace
}  // namespace moire::core
