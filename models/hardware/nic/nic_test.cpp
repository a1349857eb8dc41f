#include "models/hardware/nic/nic.hpp"

#include <gmock/gmock.h>

#include <map>

#include "sim/config/config.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/queue_network.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::nic {
namespace {

// A topology of one switch that adds no delay. Its links are as fast as the NIC and have a latency of 400 ns each.
class Switch : public core::Topology {
 public:
  Switch(std::uint32_t endpoints, const NicSpec& nic) : endpoints_(endpoints) {
    for (std::uint32_t i = 0; i < 2 * endpoints; ++i)
      links_.push_back({"", nic.payload_bandwidth(), Time::from_ns(400)});
  }
  std::uint32_t endpoints() const override { return endpoints_; }
  core::EndpointId home(core::LinkId link) const override { return link / 2; }
  const std::vector<core::NetworkLink>& links() const override { return links_; }
  void route(core::EndpointId source, core::EndpointId destination, std::uint32_t,
             std::vector<core::LinkId>& path) const override {
    path.push_back(2 * source);
    path.push_back(2 * destination + 1);
  }

 private:
  std::uint32_t endpoints_;
  std::vector<core::NetworkLink> links_;
};

NicSpec example() {
  NicSpec spec;
  spec.bandwidth = {25e9};
  spec.payload_efficiency = 0.99;
  spec.message_rate = {200e6};
  spec.queue_pairs = 4;
  spec.wqe_build = Time::from_ns(300);
  spec.doorbell = Time::from_ns(500);
  spec.pcie_bandwidth = {26e9};
  spec.pcie_latency = Time::from_ns(600);
  spec.flag_latency = Time::from_ns(700);
  spec.proxy_latency = Time::from_ns(1500);
  spec.proxy_time = Time::from_ns(400);
  return spec;
}

struct Seen : core::Receiver {
  void arrives(std::uint64_t payload, Time when) override {
    at.emplace_back(payload, when);
    last = std::max(last, when);
  }
  Time last;
  std::vector<std::pair<std::uint64_t, Time>> at;
};

struct Bench {
  explicit Bench(const NicSpec& spec)
      : topology(4, spec), network(loop, topology), nic(loop.calendar(), network, 0, spec) {}
  Time post(double bytes, std::uint64_t payload = 0, std::uint32_t queue_pair = 0, bool flag = true,
            Issuer issuer = Issuer::gpu, core::EndpointId destination = 1, Time after = {}) {
    return nic.post({destination, queue_pair, Bytes{bytes}, flag, issuer, &seen, payload, after});
  }
  Time finish() {
    loop.run();
    EXPECT_EQ(nic.posted(), nic.injected());
    EXPECT_EQ(seen.at.size(), nic.posted());
    return seen.last;
  }
  core::RunLoop loop;
  Switch topology;
  core::QueueNetwork network;
  Nic nic;
  Seen seen;
};

TEST(Nic, OnePutTakesTheClosedForm) {
  for (const double bytes : {1.0, 4096.0, 3e6}) {
    Bench bench(example());
    EXPECT_EQ(bench.post(bytes), Time::from_ns(300));
    const double wire = bytes / (25 * 0.99);                           // ns
    const double ns = 300 + 500 + 2 * 5 + 600 + 2 * 400 + wire + 700;  // two work requests at 200 M/s
    EXPECT_NEAR(bench.finish().ns(), ns, 0.05);
  }
}

TEST(Nic, BarePutHasOneWorkRequestAndNoFlag) {
  Bench bench(example());
  bench.post(4096, 0, 0, false);
  EXPECT_NEAR(bench.finish().ns(), 300 + 500 + 5 + 600 + 800 + 4096 / 24.75, 0.01);
}

TEST(Nic, SmallPutsAreBoundByTheMessageRate) {
  Bench bench(example());
  const int n = 10000;
  for (int i = 0; i < n; ++i) bench.post(8, 0, static_cast<std::uint32_t>(i % 4));
  EXPECT_NEAR(bench.finish().us(), 2.9 + n * 2 * 5e-3, 0.01);
}

// `queue_pairs` limits the queue pairs of GPUs, but not those of a host thread. So a library's credit does not wait for
// the data of another connection.
TEST(Nic, PutsOfAHostThreadKeepTheirQueuePairs) {
  NicSpec spec = example();
  spec.queue_pairs = 1;
  for (const Issuer issuer : {Issuer::gpu, Issuer::proxy}) {
    Bench bench(spec);
    bench.post(1e6, 1, 2, true, issuer);
    bench.post(8, 2, 5, true, issuer);
    bench.finish();
    EXPECT_EQ(bench.seen.at.front().first, issuer == Issuer::gpu ? 1 : 2);
  }
}

TEST(Nic, OneQueuePairIsBoundByItsOwnRate) {
  NicSpec spec = example();
  spec.queue_pair_message_rate = {20e6};
  const int n = 1000;
  Bench one(spec);
  for (int i = 0; i < n; ++i) one.post(8, 0, 0, false);
  EXPECT_NEAR(one.finish().us(), 2.2 + n * 50e-3, 0.01);
  Bench four(spec);
  for (int i = 0; i < n; ++i) four.post(8, 0, static_cast<std::uint32_t>(i), false);  // taken modulo four
  EXPECT_NEAR(four.finish().us(), 2.2 + n / 4.0 * 50e-3, 0.03);
}

TEST(Nic, LargePutsAreBoundByTheSlowerOfWireAndPcie) {
  for (const double pcie : {10e9, 26e9}) {
    NicSpec spec = example();
    spec.pcie_bandwidth = {pcie};
    Bench bench(spec);
    for (int i = 0; i < 20; ++i) bench.post(5e6);
    EXPECT_NEAR(bench.finish().us(), 2.91 + 100e6 / std::min(pcie, 24.75e9) * 1e6, 0.01);
  }
}

TEST(Nic, OrderHoldsWithinAQueuePair) {
  NicSpec spec = example();
  spec.queue_pair_message_rate = {10e6};
  Bench bench(spec);
  for (std::uint64_t i = 0; i < 200; ++i) {
    bench.post(i % 3 == 0 ? 300e3 : 8, i, static_cast<std::uint32_t>(i % 4), i % 2 == 0, Issuer::gpu, 1 + i % 2);
  }
  bench.finish();
  std::map<std::uint64_t, std::uint64_t> last;  // by queue pair (here it determines the destination)
  for (const auto& [put, when] : bench.seen.at) {
    if (put % 2 != 0) continue;  // a flag of an earlier put may be seen after the data of a later put without a flag
    EXPECT_GE(put, last[put % 4]);
    last[put % 4] = put;
  }
}

// A queue pair with a backlog does not delay the work requests of others.
TEST(Nic, BusyQueuePairDoesNotBlockAnother) {
  NicSpec spec = example();
  spec.queue_pair_message_rate = {1e6};
  Bench bench(spec);
  for (int i = 0; i < 100; ++i) bench.post(8, 1, 0, false);
  bench.post(8, 2, 1, false);
  bench.finish();
  for (const auto& [put, when] : bench.seen.at) {
    if (put == 2) {
      EXPECT_NEAR(when.us(), 2.2 + 1.0, 0.02);
    }
  }
  EXPECT_NEAR(bench.seen.last.us(), 2.2 + 100.0, 0.01);
}

TEST(Nic, GpusThatShareANicShareItsBandwidth) {
  Bench bench(example());
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) bench.post(10e6, gpu, gpu, true, Issuer::gpu, 1 + gpu);
  bench.finish();
  for (const auto& [gpu, when] : bench.seen.at) EXPECT_NEAR(when.us(), 2.91 + 20e6 / 24.75e9 * 1e6, 3) << gpu;
}

TEST(Nic, HostThreadServesPutsOneByOne) {
  Bench bench(example());
  for (int i = 0; i < 50; ++i) bench.post(8, 0, 0, false, Issuer::proxy);
  EXPECT_NEAR(bench.finish().us(), 2.205 + 1.5 + 50 * 0.4, 0.01);
}

// As long as no GPU has posted to a NIC, the NIC computes the injection time of a host thread's put at once
// (Nic::thread_alone_), and puts that begin later need no event (Nic::untold_). Puts must take the same time with and
// without these shortcuts.
TEST(Nic, PutsOfAHostThreadTakeTheSameTimeWhereGpusPostedBefore) {
  NicSpec spec = example();
  spec.queue_pair_message_rate = PerSecond{10e6};
  const auto seen = [&](bool gpu_before, bool later) {
    Bench bench(spec);
    if (gpu_before) bench.post(8);
    bench.loop.run();
    const Time begin = bench.loop.now();
    bench.seen.at.clear();
    for (std::uint32_t i = 0; i < 60; ++i) {
      const Time after = Time::from_ns(later ? 700 * (i * 7 % 60) : 0);  // up to 41 us; all puts take the thread 24 us
      bench.post(i % 5 == 0 ? 30'000 : 8, i, i % 3, i % 2 == 0, Issuer::proxy, 1 + i % 2, after);
    }
    bench.loop.run();
    EXPECT_EQ(bench.seen.at.size(), 60u);
    for (auto& [payload, at] : bench.seen.at) at = at - begin;
    return bench.seen.at;
  };
  for (const bool later : {false, true}) EXPECT_EQ(seen(true, later), seen(false, later));
}

TEST(Nic, PutsThatBeginLaterAreNotLostWhenAGpuPosts) {
  Bench bench(example());
  for (std::uint32_t i = 0; i < 20; ++i) bench.post(8, i, 0, false, Issuer::proxy, 1, Time::from_us(i));
  bench.loop.run_instant();
  bench.post(8, 20);
  // The thread begins the last put at 19 us, and has no other put then.
  EXPECT_NEAR(bench.finish().us(), 19 + 2.205 + 1.5 + 0.4, 0.001);
}

TEST(Nic, RefusesAPutWithoutBytesOrSink) {
  Bench bench(example());
  EXPECT_THROW(bench.post(0), core::InvariantError);
  EXPECT_THROW(bench.nic.post({1, 0, Bytes{8}, true, Issuer::gpu, nullptr, 0}), core::InvariantError);
}

constexpr const char* file = R"(
sources: {sheet: "a datasheet"}
bandwidth: {value: 200 Gb/s, source: sheet}
payload_efficiency: {value: 0.994, source: sheet}
latency: {value: 250 ns, source: sheet}
message_rate: {value: 215 M/s, source: sheet}
wqe_build: {value: 300 ns, source: sheet}
doorbell: {value: 500 ns, source: sheet}
pcie_bandwidth: {value: 26 GB/s, source: sheet}
pcie_latency: {value: 600 ns, source: sheet}
flag_latency: {value: 700 ns, source: sheet}
proxy_latency: {value: 1.5 us, source: sheet}
proxy_time: {value: 400 ns, source: sheet}
)";

TEST(NicSpec, ReadsAFile) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("nic.yaml", file, {}, diagnostics);
  ASSERT_TRUE(root) << diagnostics.str();
  const auto spec = config::parse<NicSpec>(*root, diagnostics);
  ASSERT_TRUE(spec && diagnostics.ok()) << diagnostics.str();
  EXPECT_EQ(spec->bandwidth.value, 25e9);
  EXPECT_FALSE(spec->queue_pair_message_rate);
  EXPECT_NEAR(spec->payload_bandwidth().value, 24.85e9, 1e6);
  EXPECT_EQ(spec->message_rate.value, 215e6);
}

}  // namespace
}  // namespace moire::nic
