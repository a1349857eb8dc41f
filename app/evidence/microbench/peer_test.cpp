// Closed-form expectations for a machine with round numbers: ports of 300 GB/s, stores of a CU at 50 GB/s, and copy
// engines that take 10 us for a first command, 2 us for a command that follows another, and copy at 100 GB/s.
#include <gmock/gmock.h>

#include "app/evidence/microbench/microbench.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::microbench {
namespace {

Values run(const libraries::EquippedSystem& system, const std::string& name, const Parameters& parameters) {
  return find(name)->run(system, parameters);
}
const libraries::EquippedSystem four = libraries::example_equipped(4);

Parameters stores(double wgs, double peers, double senders) {
  return {{"wgs", wgs}, {"peers", peers}, {"senders", senders}, {"chunk_bytes", 0}};
}

TEST(Peer, StoresAreBoundByTheCuThenByThePort) {
  const Values one = run(four, "peer_store", stores(1, 1, 1));
  EXPECT_NEAR(one.at("bandwidth"), 50, 1e-3);
  EXPECT_NEAR(one.at("bandwidth_per_wg"), 50, 1e-3);
  EXPECT_NEAR(run(four, "peer_store", stores(4, 1, 1)).at("bandwidth"), 200, 1e-3);
  const Values many = run(four, "peer_store", stores(32, 3, 4));
  EXPECT_NEAR(many.at("bandwidth"), 300, 0.01);
  EXPECT_NEAR(many.at("bandwidth_per_wg"), 300. / 32, 0.2);  // 32 workgroups do not divide evenly by 3 peers
}

TEST(Peer, FanInSharesTheReceiversPort) {
  EXPECT_NEAR(run(four, "peer_fan_in", {{"wgs", 8}, {"senders", 1}}).at("bandwidth"), 300, 1e-2);
  EXPECT_NEAR(run(four, "peer_fan_in", {{"wgs", 8}, {"senders", 3}}).at("bandwidth"), 300, 1e-2);
  EXPECT_NEAR(run(four, "peer_fan_in", {{"wgs", 1}, {"senders", 3}}).at("bandwidth"), 150, 1e-2);
}

TEST(Peer, CopiesReachThePort) {
  const Values values = run(four, "peer_copy", {{"wgs", 32}, {"peers", 1}, {"senders", 2}, {"in_flight_bytes", 16384}});
  EXPECT_NEAR(values.at("bandwidth"), 300, 0.01);
}

TEST(Peer, AFlagTakesAStoreAndAPollEachWay) {
  EXPECT_NEAR(run(four, "flag", {}).at("round_trip"), 2 * (500 + 100), 1e-6);
}

// A tile of 64 KiB takes 1,311 ns at 50 GB/s, and 200 ns until the cache has answered. Shared memory is free when only
// what a CU can have in flight is left.
TEST(Epilogue, ATurnEndsWhenTheTileIsSentWrittenOrCounted) {
  libraries::EquippedSystem system = four;
  system.node.gpu.l2.hit_latency = Time::from_ns(200);
  system.node.gpu.port.fence = Time::from_ns(600);
  const auto over = [&](double wait, double wgs) {
    return run(system, "peer_epilogue", {{"remote", 1}, {"senders", 1}, {"wgs", wgs}, {"spin_us", 50}, {"wait", wait}})
        .at("over_spin");
  };
  const double tile = 65536 / 50.;
  const double window = system.node.gpu.port.store_window_per_cu.value / 50;
  EXPECT_NEAR(over(0, 1), tile - window + window / 20, 1) << "the last of 20 tiles is waited for";
  EXPECT_NEAR(over(1, 1), tile + 200, 1);
  EXPECT_NEAR(over(2, 1), tile + 200 + 600, 1);
  EXPECT_NEAR(over(1, 4), tile + 200, 1) << "four CUs do not fill the port";
  EXPECT_ANY_THROW(over(3, 1));
}

TEST(Fence, WaitsForTheStoresBeforeIt) {
  EXPECT_NEAR(run(four, "fence", {{"remote", 1}, {"store_bytes", 5e4}}).at("time") -
                  run(four, "fence", {{"remote", 1}, {"store_bytes", 2.5e4}}).at("time"),
              500, 1e-3);  // 25 kB more, at 50 GB/s
}

TEST(Fence, CostsItselfAndTheWayBackOfRemoteStores) {
  libraries::EquippedSystem system = four;
  system.node.gpu.port.fence = Time::from_ns(600);
  system.node.gpu.port.store_return = Time::from_ns(300);
  const auto time = [&](double remote, double bytes) {
    return run(system, "fence", {{"remote", remote}, {"store_bytes", bytes}}).at("time");
  };
  EXPECT_NEAR(time(0, 0), 600, 1e-6);
  EXPECT_NEAR(time(1, 0), 600, 1e-6);
  EXPECT_NEAR(time(1, 5e4), 1000 + 300 + 600, 1e-3);  // 50 kB at 50 GB/s
  EXPECT_NEAR(time(0, 5e4), 500 + 600, 1e-3);         // 50 kB at the CU's 100 GB/s
}

TEST(Fence, UnderLoadTheStoresOfAllShareThePort) {
  // 8 workgroups store 75 kB each at the same time: 600 kB through 300 GB/s.
  const double loaded =
      run(four, "loaded_fence", {{"wgs_per_sm", 1}, {"gather_bytes", 0}, {"store_bytes", 75e3}, {"peers", 1}})
          .at("time");
  const double idle = run(four, "fence", {{"remote", 1}, {"store_bytes", 0}}).at("time");
  EXPECT_NEAR(loaded - idle, 2000, 1e-2);
}

constexpr double mb = 1e6;  // 10 us at 100 GB/s

TEST(Copies, OneAndChunks) {
  EXPECT_NEAR(run(four, "copy_single", {{"bytes", mb}, {"remote", 1}}).at("time"), 20, 1e-6);
  EXPECT_NEAR(run(four, "copy_chunked", {{"bytes", mb}, {"chunks", 5}}).at("time"), 10 + 4 * 2 + 10, 1e-6);
}

TEST(Copies, OfOneGpuGoOneAfterTheOther) {
  const Values streams = run(four, "copy_streams", {{"bytes", mb}, {"copies", 2}});
  EXPECT_NEAR(streams.at("first_end"), 20, 1e-6);
  EXPECT_NEAR(streams.at("time"), 40, 1e-6);
  EXPECT_NEAR(run(four, "copy_fan_out", {{"bytes", mb}, {"peers", 3}}).at("time"), 60, 1e-6);
}

// GPUs 0 to 3 begin with their first, second, first and third copy.
TEST(Copies, ForkedBehindAKernelMeetAtReceivers) {
  libraries::EquippedSystem system = four;
  system.node.gpu.port.links = 2;               // 100 GB/s, the rate of one engine
  const double in_order = 10 + 3 * 10 + 2 * 2;  // one first command, then one copy after the other
  const auto time = [](const libraries::EquippedSystem& with, double kernel) {
    return run(with, "copy_fork", {{"bytes", mb}, {"gpus", 4}, {"kernel", kernel}}).at("time");
  };
  EXPECT_NEAR(time(system, 0), in_order, 1e-6);
  // GPUs 1 and 2 both begin with GPU 3, and then both go on with GPU 0.
  EXPECT_NEAR(time(system, 1), in_order + 20, 1);
  EXPECT_NEAR(time(four, 1), in_order, 1e-6) << "a port of 300 GB/s has room for three copies";
  EXPECT_THROW(run(four, "copy_fork", {{"bytes", mb}, {"gpus", 1}, {"kernel", 0}}), std::invalid_argument);
  EXPECT_THROW(run(four, "copy_fork", {{"bytes", mb}, {"gpus", 4}, {"kernel", 3}}), std::invalid_argument);
}

TEST(Copies, InAnyOrderSendersMeetAtReceivers) {
  libraries::EquippedSystem system = four;
  system.node.gpu.port.links = 2;               // 100 GB/s, the rate of one engine
  const double rotated = 10 + 2 * 10 + 3 * 10;  // three first commands, then one copy after the other
  const double time = run(system, "copy_all_to_all", {{"bytes", mb}, {"gpus", 4}, {"streams", 3}}).at("time");
  EXPECT_GT(time, rotated + 5);
  EXPECT_LE(time, rotated + 2 * 30);  // if all three senders always copied to one receiver
  EXPECT_EQ(time, run(system, "copy_all_to_all", {{"bytes", mb}, {"gpus", 4}, {"streams", 3}}).at("time"));
  EXPECT_NEAR(run(four, "copy_all_to_all", {{"bytes", mb}, {"gpus", 4}, {"streams", 3}}).at("time"), rotated, 1e-6)
      << "a port is as fast as three engines, so the order does not matter";
}

TEST(Copies, OfSeveralGpusMeetOnlyAtAPort) {
  libraries::EquippedSystem system = four;
  const Values pairs = run(system, "copy_pairs", {{"bytes", mb}});
  EXPECT_NEAR(pairs.at("time"), 20, 1e-6);
  EXPECT_NEAR(pairs.at("first_end"), 20, 1e-6);
  system.node.gpu.port.links = 3;  // 150 GB/s
  EXPECT_NEAR(run(system, "copy_fan_in", {{"bytes", mb}, {"senders", 3}}).at("time"), 10 + 20, 1e-6);
  // Each GPU copies to the next GPU first, then to the one after it, so no two senders share a port.
  EXPECT_NEAR(run(system, "copy_all_to_all", {{"bytes", mb}, {"gpus", 4}, {"streams", 1}}).at("time"),
              10 + 2 * 2 + 3 * 10, 1e-6);
  EXPECT_NEAR(run(system, "copy_all_to_all", {{"bytes", mb}, {"gpus", 2}, {"streams", 1}}).at("time"), 20, 1e-6);
}

}  // namespace
}  // namespace moire::microbench
