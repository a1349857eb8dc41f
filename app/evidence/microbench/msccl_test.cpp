#include "app/evidence/microbench/msccl.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "app/evidence/microbench/library.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::microbench {
namespace {

// Returns a library with overheads of whole microseconds. Memory and links take almost no time for chunks of 16 bytes.
libraries::LibrarySpec interpreter() {
  libraries::LibrarySpec library;
  library.name = "interpreter";
  library.max_channels = 64;
  library.threads = 544;
  library.registers_per_thread = 32;
  library.slots = 8;
  library.bytes_in_flight = {64e3};
  library.node = {.channels_per_peer = 1, .slot = {4096}, .smallest_share = {4096}, .largest_share = {4096}};
  libraries::ChannelsSpec channels;
  channels.channels = 64;
  channels.setup = Time::from_us(3);
  channels.local_overhead = Time::from_us(5);
  channels.simple.threads = 544;
  channels.simple.chunk = {2 << 20};
  channels.simple.slices = 2;
  channels.simple.smallest_slice = {32768};
  channels.simple.slots = 4;
  channels.simple.bytes_in_flight = {65536};
  channels.simple.step_overhead = Time::from_us(7);
  library.channels = channels;
  return library;
}

double inside(const std::string& name, Parameters parameters) {
  for (const Benchmark& benchmark : with_library(interpreter())) {
    if (benchmark.name != name) continue;
    EXPECT_TRUE(benchmark.run) << name;
    libraries::EquippedSystem system = libraries::example_equipped(2);
    system.node.gpu.host.event_pair = Time::from_us(4);
    parameters.try_emplace("ll", 0.0);
    parameters.try_emplace("chunk_bytes", 16.0);
    const Values values = benchmark.run(system, parameters);
    EXPECT_DOUBLE_EQ(values.at("time"), values.at("inside") + 4) << name;
    return values.at("inside");
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(Msccl, NeedsALibraryWithChannels) {
  EXPECT_FALSE(find("msccl_ping")->run) << "it needs a library";
  libraries::LibrarySpec plain = interpreter();
  plain.channels.reset();
  for (const Benchmark& benchmark : with_library(plain)) {
    if (benchmark.name == "msccl_ping") {
      EXPECT_FALSE(benchmark.run);
    }
  }
}

TEST(Msccl, EveryStepHasItsOverhead) {
  // Each step waits for its loads: 400 ns for each of the two chunks the first time, then 100 ns, from the L2.
  EXPECT_NEAR(inside("msccl_steps", {{"steps", 9}}) - inside("msccl_steps", {{"steps", 1}}), 8 * 5 + 0.4 + 7 * 0.1,
              0.01);
  // Each hop adds the time of the flag: a store of 500 ns and a poll of 100 ns.
  EXPECT_NEAR(inside("msccl_ping", {{"hops", 9}}) - inside("msccl_ping", {{"hops", 1}}), 8 * (7 + 0.6 + 0.4), 0.8);
}

TEST(Msccl, BlocksWorkSideBySide) {
  EXPECT_NEAR(inside("msccl_copy", {{"blocks", 4}}), inside("msccl_copy", {{"blocks", 1}}), 0.1);
  EXPECT_NEAR(inside("msccl_stream", {{"connections", 2}, {"both", 1}}),
              inside("msccl_stream", {{"connections", 1}, {"both", 0}}), 0.5);
}

TEST(Msccl, TurnsOfTwoBlocksTakeLongerThanStepsOfOne) {
  EXPECT_GT(inside("msccl_dependency", {{"hops", 8}}), inside("msccl_steps", {{"steps", 8}}));
}

TEST(Msccl, SourcesOfASumAreLoadedOneAfterTheOther) {
  const auto reduce = [](double sources, double bytes) {
    return inside("msccl_reduce", {{"sources", sources}, {"blocks", 1}, {"chunk_bytes", bytes}});
  };
  // However few bytes there are, each further source takes the 400 ns of a load.
  EXPECT_NEAR(reduce(3, 16) - reduce(1, 16), 2 * 0.4, 0.01);
  EXPECT_NEAR(reduce(7, 16) - reduce(1, 16), 6 * 0.4, 0.01);
  // More bytes never end sooner: a full round of 64 KiB, one byte more, and two rounds.
  double last = 0;
  for (const double bytes : {16.0, 4096.0, 65520.0, 65536.0, 65552.0, 98304.0, 131072.0}) {
    EXPECT_GE(reduce(3, bytes), last) << bytes;
    last = reduce(3, bytes);
  }
}

TEST(Msccl, ExchangesFollowEachOther) {
  const auto exchange = [](double steps, double blocks, double adds) {
    return inside("msccl_exchange", {{"steps", steps}, {"blocks", blocks}, {"adds", adds}});
  };
  // An exchange takes the overheads of its send and of its receive, and then the way of the flag.
  EXPECT_NEAR(exchange(5, 1, 0) - exchange(1, 1, 0), 4 * (2 * 7 + 0.6), 4.0);
  EXPECT_GT(exchange(5, 2, 0), exchange(5, 1, 0) - 0.01) << "the second block has to wait for the first";
  EXPECT_NEAR(exchange(5, 1, 1), exchange(5, 1, 0), 1.0) << "a sum loads the second operand beside the first";
}

TEST(Msccl, EveryPlanEnds) {
  EXPECT_GT(inside("msccl_reduce", {{"sources", 3}, {"blocks", 2}}), 8);
  EXPECT_GT(inside("msccl_sends", {{"steps", 6}}), 7 * 6);
  for (const double kind : {0, 1, 2, 3}) EXPECT_GT(inside("msccl_kind", {{"kind", kind}, {"connections", 2}}), 7);
}

TEST(Msccl, RefusesWhatIsNoPlan) {
  EXPECT_THROW(inside("msccl_kind", {{"kind", 4}, {"connections", 1}}), std::invalid_argument);
  EXPECT_THROW(inside("msccl_steps", {{"steps", 1}, {"ll", 2}}), std::invalid_argument);
  EXPECT_THROW(inside("msccl_steps", {{"steps", 1}, {"chunk_bytes", 0}}), std::invalid_argument);
  EXPECT_THROW(inside("msccl_steps", {}), std::invalid_argument);
}

}  // namespace
}  // namespace moire::microbench
