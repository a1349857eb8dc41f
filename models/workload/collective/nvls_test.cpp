// Tests collectives through the switch of a node (NVLS) on 8 H100 with NCCL's profile.
#include <gmock/gmock.h>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/selection.hpp"
#include "models/workload/collective/timing.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::collective {
namespace {

using libraries::EquippedSystem;

EquippedSystem dgx() {
  config::Diagnostics diagnostics;
  const auto root = config::load(support::source_dir() + "/configs/systems/8xh100_dgx.yaml", {}, diagnostics);
  auto system = root ? libraries::read_system(*root, diagnostics) : std::nullopt;
  EXPECT_TRUE(system) << diagnostics.str();
  system->nodes = 1;
  return *system;
}

Collective nvls(Kind kind, double bytes) {
  return {.kind = kind, .bytes = Bytes{bytes}, .method = {.algorithm = Algorithm::nvls}};
}

double us(const EquippedSystem& system, Kind kind, double bytes) {
  const Collective asked = nvls(kind, bytes);
  EXPECT_EQ(check(asked, system), std::nullopt);
  return time_of(system, asked).us();
}

double port(const EquippedSystem& system) {
  return system.node.gpu.port.link_bandwidth.value * static_cast<double>(system.node.gpu.port.links) *
         *system.node.gpu.port.multicast_efficiency;
}

// The bytes through the busier direction of a port are n + n / N for an all-reduce of n bytes on N ranks, the whole
// output for an all-gather, and the whole input for a reduce-scatter.
TEST(Nvls, APortCarriesAllOwnersStoresAndTheOwnSums) {
  EquippedSystem system = dgx();
  libraries::ChannelsSpec& channels = *system.software.library->channels;
  channels.simple.step_overhead = {};
  channels.nvls->channels = 64;  // with 16 channels, the copies keep the CUs nearly as busy as the ports
  constexpr double more = 1 << 30;
  const auto a_byte = [&](Kind kind) {
    return (us(system, kind, 2 * more) - us(system, kind, more)) * 1e-6 / more * port(system);
  };
  EXPECT_NEAR(a_byte(Kind::all_reduce), 1 + 1.0 / 8, 0.02);
  EXPECT_NEAR(a_byte(Kind::reduce_scatter), 1, 0.02);
  EXPECT_NEAR((us(system, Kind::all_gather, more / 4) - us(system, Kind::all_gather, more / 8)) * 1e-6 / (more / 8) *
                  port(system),
              8, 0.16);
}

TEST(Nvls, AnySizeEndsAndMoreBytesTakeLonger) {
  const EquippedSystem system = dgx();
  for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter}) {
    double before = 0;
    for (const double bytes : {1., 7., 4097., 65536., 1e6 + 1, 3e6, 2e7 + 3, 1e8}) {
      const double now = us(system, kind, bytes);
      EXPECT_GE(now, before) << name_of(kind) << ' ' << bytes;
      before = now;
    }
  }
}

TEST(Nvls, MoreOfThePortIsNeverSlower) {
  EquippedSystem system = dgx();
  double before = 1e30;
  for (const double efficiency : {0.2, 0.4, 0.6, 0.8, 1.0}) {
    system.node.gpu.port.multicast_efficiency = efficiency;
    const double now = us(system, Kind::all_reduce, 64 << 20);
    EXPECT_LE(now, before);
    before = now;
  }
}

// NCCL takes rings with LL up to 1 MiB, then NVLS; with fewer than 5 GPUs it takes rings.
TEST(Nvls, TheLibraryTakesItFromFiveGpusOn) {
  EquippedSystem system = dgx();
  const libraries::ChannelsSpec& channels = *system.software.library->channels;
  const auto algorithm = [&](double bytes) {
    return choose(channels, system, {.kind = Kind::all_reduce, .bytes = bytes}).algorithm;
  };
  EXPECT_EQ(algorithm(65536), Algorithm::ring);
  EXPECT_EQ(algorithm(2 << 20), Algorithm::nvls);
  EXPECT_EQ(algorithm(1 << 30), Algorithm::nvls);
  system.node.gpus = 4;
  EXPECT_EQ(algorithm(1 << 30), Algorithm::ring);
  EXPECT_NE(choose(channels, dgx(), {.kind = Kind::all_gather, .bytes = 1e8}).algorithm, Algorithm::nvls);
}

TEST(Nvls, ItsNumbersFitEachOther) {
  const auto wrong = [](const std::string& key) {
    config::Diagnostics diagnostics;
    const auto root = config::load(support::source_dir() + "/configs/systems/8xh100_dgx.yaml",
                                   config::parse_sets({"library.channels.nvls." + key}, diagnostics), diagnostics);
    if (root) libraries::read_system(*root, diagnostics);
    return diagnostics.str();
  };
  EXPECT_EQ(wrong("chunk=64 KiB"), "");
  EXPECT_THAT(wrong("smallest_chunk=1 MiB"), testing::HasSubstr("the smallest chunk is larger than a chunk"));
  EXPECT_THAT(
      wrong("scatter_threads=1000"),
      testing::HasSubstr("threads is 640, but scatter_threads, reduce_threads and gather_threads are 1384 together"));
}

TEST(Nvls, SaysWhereItCannot) {
  EquippedSystem system = dgx();
  const auto refusal = [&](Kind kind, Protocol protocol = Protocol::automatic) {
    Collective asked = nvls(kind, 1e6);
    asked.method.protocol = protocol;
    const auto problem = check(asked, system);
    return problem ? problem->str() : "";
  };
  EXPECT_THAT(refusal(Kind::broadcast), testing::HasSubstr("nvls broadcast does not exist"));
  EXPECT_THAT(refusal(Kind::all_reduce, Protocol::ll), testing::HasSubstr("leave protocol out"));
  system.nodes = 2;
  EXPECT_THAT(refusal(Kind::all_reduce), testing::HasSubstr("the switch of one node, but there are several"));
  system.nodes = 1;
  system.node.gpu.port.multicast_efficiency.reset();
  EXPECT_THAT(refusal(Kind::all_reduce), testing::HasSubstr("multicast_efficiency"));
  system = dgx();
  system.software.library->channels->nvls.reset();
  EXPECT_THAT(refusal(Kind::all_reduce), testing::HasSubstr("does not describe nvls; write algorithm: ring"));
}

}  // namespace
}  // namespace moire::collective
