#include "models/hardware/dma/engines.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

namespace moire::dma {
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

// Engines of 100 GB/s write into one port of 150 GB/s: 1 MB takes 10 us alone, and 13.3 us if two engines share the
// port.
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
  struct Nobody final : core::EventSink {
    void fire(std::uint64_t) override {}
  } nobody;
  Engines* engines = nullptr;
  std::vector<Done> done;
  std::function<void(std::uint64_t)> then = [](std::uint64_t) {};

  void fire(std::uint64_t copy) override {
    done.push_back({copy, loop.now().us(), engines->finished().engine, engines->finished().begin.us()});
    then(copy);
  }
  // Submits a copy in a queue of its own. submit_to() submits a copy in a given queue.
  void submit(std::uint64_t copy, double bytes) { submit_to(100 + static_cast<std::uint32_t>(copy), copy, bytes); }
  void submit_to(std::uint32_t queue, std::uint64_t copy, double bytes, Time ready = Time{}, bool local = false) {
    engines->submit({path, {bytes}, queue, std::max(ready, Time{}), local, this, copy});
  }
};

// The command of the second copy takes 2 us, and 3 us more while the engines beside move bytes.
TEST_F(EnginesTest, ACommandTakesLongerWhileTheEnginesBesideAreBusy) {
  for (const double beside_bytes : {0., 5e6}) {
    core::Sharing apart{loop};
    const core::CapacityId other = apart.add_capacity({.name = "other", .rate = 100e9});
    const core::ClassId way = apart.add_class({.demands = {{other, 1}}, .weight = 400e3});
    Engines own(spec, loop, sharing), beside(spec, loop, apart);
    own.set_beside(beside, Time::from_us(3));
    engines = &own;
    done.clear();
    const double begin = loop.now().us();
    if (beside_bytes > 0)
      beside.submit({.path = way, .bytes = {beside_bytes}, .ready = loop.now(), .sink = &nobody, .payload = 9});
    submit_to(1, 1, 1e6, loop.now());
    submit_to(1, 2, 1e6, loop.now());
    loop.run();
    ASSERT_EQ(done.size(), 2U);
    EXPECT_DOUBLE_EQ(done[1].us - begin, 20 + (beside_bytes > 0 ? 5 : 2) + 10);
  }
}

TEST_F(EnginesTest, ACopyPaysItsCommandThenItsBytes) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit(1, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}));
}

TEST_F(EnginesTest, TheNextCommandOfAQueueCostsLess) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit_to(0, 1, 1e6);
  submit_to(0, 2, 1e6);
  submit_to(0, 3, 1e6);
  EXPECT_EQ(engines->waiting(), 2);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 32, 0, 22}, Done{3, 44, 0, 34}));
  EXPECT_EQ(engines->waiting(), 0);
}

TEST_F(EnginesTest, ACommandThatComesLateIsWaitedFor) {
  Engines own(spec, loop, sharing);
  engines = &own;
  submit_to(0, 1, 1e6);
  submit_to(0, 2, 1e6, Time::from_us(15));  // its first byte is due at 25 us, not at 22 us
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 35, 0, 25}));
}

TEST_F(EnginesTest, TurningToAnotherQueueHoldsTheEngineUp) {
  spec.switch_command = Time::from_us(6);
  Engines own(spec, loop, sharing);
  engines = &own;
  submit_to(0, 1, 1e6);
  submit_to(1, 2, 1e6);
  submit_to(1, 3, 1e6);
  submit_to(0, 4, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 36, 0, 26}, Done{3, 48, 0, 38}, Done{4, 64, 0, 54}));
}

TEST_F(EnginesTest, AnIdleEngineCostsTheFirstCommandAgain) {
  Engines own(spec, loop, sharing);
  engines = &own;
  then = [&](std::uint64_t copy) {
    if (copy == 1) submit_to(0, 2, 1e6, Time::from_us(50));  // begins then
  };
  submit_to(0, 1, 1e6);
  loop.run();
  EXPECT_THAT(done, ElementsAre(Done{1, 20, 0, 10}, Done{2, 70, 0, 60}));
}

// A command takes 10 us, and so does a switch between queues. Of each, 4 or 9 us are the time of two events. A switch
// takes at least next_command, 2 us.
TEST_F(EnginesTest, CommandsWithoutEventsAreFaster) {
  for (const auto& [events, first, second] : {std::tuple{4., 16., 32.}, std::tuple{9., 11., 23.}}) {
    core::RunLoop own_loop;
    core::Sharing own_sharing{own_loop};
    const core::ClassId wide = own_sharing.add_class({.demands = {}, .weight = 1, .bound = 100e9});
    struct Sink : core::EventSink {
      core::RunLoop& loop;
      std::vector<double> ends;
      explicit Sink(core::RunLoop& l) : loop(l) {}
      void fire(std::uint64_t /*copy*/) override { ends.push_back(loop.now().us()); }
    } sink{own_loop};
    Engines own(spec, own_loop, own_sharing);
    for (const std::uint32_t queue : {0U, 1U})
      own.submit({wide, {1e6}, queue, Time{}, false, &sink, queue, Time::from_us(events)});
    own_loop.run();
    EXPECT_THAT(sink.ends, ElementsAre(first, second));
  }
}

TEST_F(EnginesTest, CopiesWithinTheGpuNeedNoEngineWhereAKernelDoesThem) {
  for (const bool by_kernel : {false, true}) {
    if (by_kernel) spec.local_command = Time::from_us(3);
    core::RunLoop own_loop;
    core::Sharing own_sharing{own_loop};
    const core::ClassId wide = own_sharing.add_class({.demands = {}, .weight = 1, .bound = 100e9});
    struct Sink : core::EventSink {
      core::RunLoop& loop;
      std::vector<std::pair<std::uint64_t, double>> ends;
      explicit Sink(core::RunLoop& l) : loop(l) {}
      void fire(std::uint64_t copy) override { ends.emplace_back(copy, loop.now().us()); }
    } sink{own_loop};
    Engines own(spec, own_loop, own_sharing);
    own.submit({wide, {1e6}, 0, Time{}, false, &sink, 1});
    own.submit({wide, {1e6}, 1, Time{}, true, &sink, 2});
    own.submit({wide, {1e6}, 2, Time{}, true, &sink, 3});
    own_loop.run();
    if (by_kernel) {
      EXPECT_THAT(sink.ends, ElementsAre(std::pair{2, 13.}, std::pair{3, 13.}, std::pair{1, 20.}));
    } else {
      EXPECT_THAT(sink.ends, ElementsAre(std::pair{1, 20.}, std::pair{2, 40.}, std::pair{3, 60.}));
    }
  }
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
}  // namespace moire::dma
