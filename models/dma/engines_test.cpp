#include "models/dma/engines.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace moire::models::dma {
namespace {

using ::testing::ElementsAre;

struct Done {
  std::uint64_t copy;
  double us;
  std::uint32_t engine;
  double begin_us;
  bool operator==(const Done&) const = default;
};
void PrintTo(const Done& d, std::ostream* out) {
  *out << "copy " << d.copy << " at " << d.us << " us on engine " << d.engine << " from " << d.begin_us << " us";
}

// Engines of 100 GB/s into one port of 150 GB/s: 1 MB takes 10 us alone, 15 us with both directions of it busy.
class EnginesTest : public ::testing::Test, public core::EventSink {
 protected:
  core::RunLoop loop;
  core::Sharing sharing{loop};
  core::CapacityId port = sharing.add_capacity({.name = "port", .rate = 150e9});
  core::ClassId path = sharing.add_class({.demands = {{port, 1}}, .weight = 400e3, .bound = 100e9});
  DmaSpec spec{.engines = 3,
               .peer_concurrency = 1,
               .bandwidth = {100e9},
               .first_command = Time::from_us(10),
               .next_command = Time::from_us(2),
               .bytes_in_flight = {400e3}};
  Engines* engines = nullptr;
  std::vector<Done> done;
  std::function<void(std::uint64_t)> then = [](std::uint64_t) {};

  void fire(std::uint64_t copy) override {
    done.push_back({copy, loop.now().us(), engines->finished().engine, engines->finished().begin.us()});
    then(copy);
  }
  void submit(std::uint64_t copy, double bytes, bool prefetched = false) {
    engines->submit({path, {bytes}, prefetched, false, this, copy});
  }
};

TEST_F(EnginesTest, ACopyPaysItsCommandThenItsBytes) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}));
}

// Two copies within the GPU beside one to a peer: all three at once, 1 MB at 50 GB/s each.
TEST_F(EnginesTest, CopiesOfTheDriversKernelsWaitForNoEngine) {
  spec.local_bandwidth = BytesPerSecond{100e9};
  spec.local_command = Time::from_us(3);
  spec.first_command = Time::from_us(3);
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 1e6);
  engines->submit({path, {1e6}, false, true, this, 2});
  engines->submit({path, {1e6}, false, true, this, 3});
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 23, 0, 3}, Done{2, 23, 3, 3}, Done{3, 23, 4, 3}));
}

TEST_F(EnginesTest, WithoutTheirRateCopiesWithinTheGpuTakeAnEngine) {
  Engines own(spec, loop, sharing);
  engines = &own;
  engines->submit({path, {1e6}, false, true, this, 1});
  submit(2, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 40, 0, 30}));
}

TEST_F(EnginesTest, APrefetchedCommandCostsLess) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 1e6);
  submit(2, 1e6, true);
  submit(3, 1e6, true);
  EXPECT_EQ(engines->waiting(), 2);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 32, 0, 22}, Done{3, 44, 0, 34}));
  EXPECT_EQ(engines->waiting(), 0);
}

TEST_F(EnginesTest, CopiesOfDifferentQueuesGoOneAfterTheOtherAndPayInFull) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 1e6);
  submit(2, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 40, 0, 30}));
}

TEST_F(EnginesTest, WhereCopiesProgressTogetherTheyShareThePath) {
  spec.peer_concurrency = 2;
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 1.5e6);
  submit(2, 1.5e6);
  submit(3, 1e6);  // waits for a slot although a third engine is idle
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 30, 0, 10}, Done{2, 30, 1, 10}, Done{3, 50, 0, 40}));
}

TEST_F(EnginesTest, AnEngineRunsOneCopyAtATime) {
  spec.peer_concurrency = 8;
  spec.engines = 2;
  Engines own(spec, loop, sharing);
  engines = &own;
  for (std::uint64_t copy = 1; copy <= 3; ++copy) submit(copy, 1.5e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 30, 0, 10}, Done{2, 30, 1, 10}, Done{3, 55, 0, 40}));
}

TEST_F(EnginesTest, ACopySubmittedByTheEndOfAnotherWaitsBehindThoseInLine) {
  Engines own(spec, loop, sharing);
  engines = &own;
  then = [&](std::uint64_t copy) {
    if (copy == 1) submit(3, 1e6);
  };
  submit(1, 1e6);
  submit(2, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 40, 0, 30}, Done{3, 60, 0, 50}));
}

TEST_F(EnginesTest, AnEmptyCopyCostsItsCommand) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 0);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 10, 0, 10}));
}

}  // namespace
}  // namespace moire::models::dma
