#include "sim/core/sharing.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::core {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr double per_ps = 1e12;  // units per second: one unit of work per picosecond
constexpr double inf = std::numeric_limits<double>::infinity();

// All expected times are exact: they are closed forms in picoseconds, rounded up to whole picoseconds.
struct SharingTest : ::testing::Test, EventSink {
  RunLoop loop;
  Sharing sharing{loop};
  std::vector<std::pair<std::uint64_t, std::int64_t>> ends;  // payload, end in ps
  std::map<std::uint64_t, std::function<void()>> then;       // actions at the end of an activity

  void fire(std::uint64_t payload) override {
    ends.emplace_back(payload, loop.now().ps);
    if (const auto found = then.find(payload); found != then.end()) found->second();
  }
  // Runs `action` as an event at `ps`.
  void at(std::int64_t ps, std::function<void()> action) {
    struct Action : EventSink {
      std::function<void()> act;
      void fire(std::uint64_t) override { act(); }
    };
    auto owned = std::make_shared<Action>();
    owned->act = std::move(action);
    loop.calendar().schedule(Time{ps}, *owned, 0);
    actions_.push_back(std::move(owned));
  }
  CapacityId capacity(double rate) { return sharing.add_capacity({.name = "c", .rate = rate}); }
  ClassId of(std::vector<Demand> demands, double weight = 1, double bound = inf) {
    return sharing.add_class({.demands = std::move(demands), .weight = weight, .bound = bound});
  }
  ClassId bounded(double bound) { return of({}, 0, bound); }
  ActivityId start(ClassId into, double work, std::uint64_t payload) {
    return sharing.start(into, work, *this, payload);
  }
  void run() {
    loop.run();
    sharing.check_conservation();
  }

 private:
  std::vector<std::shared_ptr<EventSink>> actions_;
};

// --- One capacity --------------------------------------------------------------------------------------------------

TEST_F(SharingTest, OneFlowTakesWorkOverRate) {
  start(of({{capacity(per_ps), 1}}), 1000, 1);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000)));
  EXPECT_EQ(sharing.load(0), 0);
  EXPECT_DOUBLE_EQ(sharing.served(0), 1000);
}

TEST_F(SharingTest, AnEndIsRoundedUpToAPicosecond) {
  start(of({{capacity(3 * per_ps), 1}}), 1000, 1);  // 333.3 ps
  start(of({{capacity(per_ps), 1}}), 1000.25, 2);   // 1000.25 ps
  start(of({{capacity(4.096e12), 1}}), 4096, 3);    // 1000 ps, although 4096 / 4.096e12 x 1e12 > 1000 in doubles
  start(of({{capacity(1), 1}}), 5000, 4);           // 5000 s
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 334), Pair(3, 1000), Pair(2, 1001), Pair(4, 5'000'000'000'000'000)));
}

TEST_F(SharingTest, NoMemberEndsBeforeItsDate) {
  const ClassId c = of({{capacity(1000 * per_ps), 1}}, 1, per_ps);
  start(c, 1000, 1);
  start(c, 1000.4, 2);
  start(c, 1000.9, 3);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000), Pair(2, 1001), Pair(3, 1001)));
}

TEST_F(SharingTest, EqualFlowsShareEqually) {
  const CapacityId link = capacity(per_ps);
  const ClassId c = of({{link, 1}});
  for (std::uint64_t i = 0; i < 7; ++i) start(c, 1000, i);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(c), per_ps / 7);
  EXPECT_DOUBLE_EQ(sharing.load(link), per_ps);
  EXPECT_EQ(sharing.members(c), 7);
  run();
  ASSERT_EQ(ends.size(), 7);
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(ends[i], std::pair(i, std::int64_t{7000}));
}

// In one picosecond, the activity that connects the capacities x and y ends, and an activity on y begins. Afterwards
// each of the two remaining activities has a capacity to itself.
TEST_F(SharingTest, WhoeverEndsLeavesItsShareToAllWhoSharedWithIt) {
  const CapacityId x = capacity(per_ps), y = capacity(per_ps);
  const ClassId begins = of({{y, 1}}), ends_first = of({{x, 1}, {y, 1}}), stays = of({{x, 1}});
  start(ends_first, 500, 1);
  start(stays, 1500, 2);  // has half the rate of x until 1000 ps
  at(1000, [&] { start(begins, 300, 3); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000), Pair(3, 1300), Pair(2, 2000)));
}

TEST_F(SharingTest, WeightsOneTwoThree) {
  const CapacityId link = capacity(6 * per_ps);
  for (std::uint64_t w = 1; w <= 3; ++w) start(of({{link, 1}}, static_cast<double>(w)), 6000, w);
  run();
  // The rates are 1, 2 and 3 units per ps until 2000 ps. Then two activities remain, with 2 and 4 units per ps, and at
  // last one with 6.
  EXPECT_THAT(ends, ElementsAre(Pair(3, 2000), Pair(2, 2500), Pair(1, 3000)));
}

TEST_F(SharingTest, TheRestOfABoundClassIsShared) {
  const CapacityId link = capacity(10 * per_ps);
  const ClassId slow = of({{link, 1}}, 5, per_ps);
  const ClassId one = of({{link, 1}}, 1);
  const ClassId two = of({{link, 1}}, 2);
  start(slow, 4000, 0);
  start(one, 9000, 1);
  start(two, 9000, 2);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(slow), per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(one), 3 * per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(two), 6 * per_ps);
  run();
  // At 1500 ps class `two` is done and `one` has 4500 left, at 9 per ps.
  EXPECT_THAT(ends, ElementsAre(Pair(2, 1500), Pair(1, 2000), Pair(0, 4000)));
}

TEST_F(SharingTest, AWindowOverLatencyBoundsARate) {
  const CapacityId hbm = capacity(4.2e12);
  const ClassId c = sharing.add_class({.demands = {{hbm, 1}}, .weight = 8192, .window = 8192, .latency = 400e-9});
  start(c, 81920, 1);  // ten batches of 400 ns
  start(c, 8192, 2);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(c), 20.48e9);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(2, 400'000), Pair(1, 4'000'000)));
}

TEST_F(SharingTest, PastSaturationBytesInFlightDecide) {
  const CapacityId hbm = capacity(1e12);
  const auto reader = [&](double window) {
    return sharing.add_class({.demands = {{hbm, 1}}, .weight = window, .window = window, .latency = 400e-9});
  };
  const ClassId small = reader(8192);
  const ClassId large = reader(32768);
  for (std::uint64_t i = 0; i < 20; ++i) start(small, 1e6, i);
  for (std::uint64_t i = 0; i < 20; ++i) start(large, 1e6, i);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(small), 1e12 / 100);
  EXPECT_DOUBLE_EQ(sharing.rate_of(large), 4e12 / 100);
}

TEST_F(SharingTest, AClassWithoutDemandsRunsAtItsBound) {
  start(bounded(0.5 * per_ps), 1000, 1);
  start(sharing.add_class({.demands = {}, .window = 100, .latency = 400e-12}), 1000, 2);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 2000), Pair(2, 4000)));
}

// --- Several capacities --------------------------------------------------------------------------------------------

// The linear network of queueing theory: one flow crosses all links, and each link carries one more flow, which uses
// only this link.
TEST_F(SharingTest, LinearNetwork) {
  const CapacityId x = capacity(per_ps);
  const CapacityId y = capacity(2 * per_ps);
  const ClassId through = of({{x, 1}, {y, 1}});
  const ClassId on_x = of({{x, 1}});
  const ClassId on_y = of({{y, 1}});
  start(through, 1000, 0);
  start(on_x, 1000, 1);
  start(on_y, 6000, 2);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(through), 0.5 * per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(on_x), 0.5 * per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(on_y), 1.5 * per_ps);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(0, 2000), Pair(1, 2000), Pair(2, 3500)));
}

TEST_F(SharingTest, LinearNetworkWithUnequalCrowds) {
  std::vector<Demand> all;
  std::vector<ClassId> crowd;
  const std::vector<std::uint64_t> sizes{1, 2, 5};
  for (const std::uint64_t size : sizes) {
    const CapacityId link = capacity(6 * per_ps);
    all.push_back({link, 1});
    crowd.push_back(of({{link, 1}}));
    for (std::uint64_t i = 0; i < size; ++i) start(crowd.back(), 1e6, i);
  }
  const ClassId through = of(all);
  start(through, 1e6, 9);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(through), per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(crowd[0]), 5 * per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(crowd[1]), 2.5 * per_ps);
  EXPECT_DOUBLE_EQ(sharing.rate_of(crowd[2]), per_ps);
}

TEST_F(SharingTest, ADemandMayTakeSeveralUnitsPerWork) {
  const CapacityId hbm = capacity(9 * per_ps);
  const ClassId copy = of({{hbm, 2}});
  const ClassId read = of({{hbm, 1}});
  start(copy, 3000, 1);
  start(read, 3000, 2);
  run();  // both activities have 3 per ps, so they take 3 x 2 + 3 x 1 = 9 units per ps of `hbm`
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000), Pair(2, 1000)));
  EXPECT_DOUBLE_EQ(sharing.served(hbm), 9000);
}

TEST_F(SharingTest, OneCapacityMayBeNamedTwice) {
  const CapacityId hbm = capacity(9 * per_ps);
  start(of({{hbm, 1}, {hbm, 1}}), 3000, 1);
  start(of({{hbm, 1}}), 3000, 2);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.load(hbm), 9 * per_ps);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000), Pair(2, 1000)));
}

TEST_F(SharingTest, WeightsNineOrdersApartStillFillTheCapacity) {
  const CapacityId link = capacity(4e12);
  const ClassId heavy = of({{link, 1}}, 1e9, 1e9);
  const ClassId light = of({{link, 1}}, 1);
  for (std::uint64_t i = 0; i < 2000; ++i) start(heavy, 1e6, i);
  start(light, 1e6, 9999);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(heavy), 1e9);
  EXPECT_NEAR(sharing.rate_of(light) / 2e12, 1, 1e-9);
}

// --- Changes while activities run ----------------------------------------------------------------------------------

TEST_F(SharingTest, ArrivalAndDepartureInTheMiddle) {
  const ClassId c = of({{capacity(per_ps), 1}});
  start(c, 1000, 1);
  at(400, [&] { start(c, 300, 2); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(2, 1000), Pair(1, 1300)));
}

TEST_F(SharingTest, AnArrivalInAnotherClassSlowsDownToo) {
  const CapacityId link = capacity(3 * per_ps);
  const ClassId first = of({{link, 1}}, 1);
  start(first, 3000, 1);
  at(500, [&] {
    start(of({{link, 1}}, 2), 3000, 2);
  });  // activity 1 has 3 units per ps at first; then activity 1 has 1 and the second activity has 2
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 2000), Pair(2, 2000)));
}

TEST_F(SharingTest, MembersEndAtTheirOwnPoints) {
  const ClassId c = bounded(per_ps);
  start(c, 500, 1);
  at(100, [&] { start(c, 500, 2); });
  at(250, [&] { start(c, 100, 3); });
  at(600, [&] { start(c, 1000.5, 4); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(3, 350), Pair(1, 500), Pair(2, 600), Pair(4, 1601)));
}

TEST_F(SharingTest, ComponentsDoNotTouchEachOther) {
  const ClassId a = of({{capacity(per_ps), 1}});
  const ClassId b = of({{capacity(per_ps), 1}});
  start(a, 1000, 1);
  at(300, [&] { start(b, 100, 2); });
  loop.settle();
  const std::uint64_t before = sharing.solves();
  run();
  EXPECT_EQ(sharing.solves() - before, 3);  // at the start of b, the end of b, and the end of a
  EXPECT_THAT(ends, ElementsAre(Pair(2, 400), Pair(1, 1000)));
}

// --- Moves between classes ----------------------------------------------------------------------------------------

TEST_F(SharingTest, MoveKeepsTheWorkDone) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.5 * per_ps);
  const ActivityId a = start(fast, 1000, 1);
  start(fast, 1000, 2);
  at(400, [&] { sharing.move(a, slow); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(2, 1000), Pair(1, 1600)));
}

TEST_F(SharingTest, MoveThereAndBack) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.25 * per_ps);
  const ActivityId a = start(fast, 1000, 1);
  at(200, [&] { sharing.move(a, slow); });
  at(600, [&] { sharing.move(a, fast); });
  at(700, [&] { sharing.move(a, fast); });  // the same class: nothing happens
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1300)));
}

TEST_F(SharingTest, AMoveAndItsReturnInOneInstantChangeNothing) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.25 * per_ps);
  const ActivityId a = start(fast, 1000, 1);
  at(200, [&] {
    sharing.move(a, slow);
    sharing.move(a, fast);
  });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000)));
  EXPECT_EQ(sharing.members(slow), 0);
}

TEST_F(SharingTest, AMemberThatIsDueMayStillBeMovedByItsNeighbour) {
  const ClassId fast = bounded(3e12);
  const ClassId slow = bounded(1);
  start(fast, 1000, 1);  // this activity and the next are due at 333.3 ps, so they end at 334 ps
  const ActivityId b = start(fast, 1000, 2);
  then[1] = [&] { sharing.move(b, slow); };
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 334), Pair(2, 334)));
  EXPECT_THROW(sharing.move(b, fast), InvariantError);  // it has ended
}

TEST_F(SharingTest, ManyMovesLeaveNothingBehind) {
  const ClassId even = bounded(per_ps);
  const ClassId odd = bounded(0.5 * per_ps);
  start(even, 1e9, 0);
  start(odd, 1e9, 1);
  const ActivityId a = start(even, 300'000, 2);
  for (std::int64_t i = 1; i <= 100'000; ++i) at(2 * i, [&, i] { sharing.move(a, i % 2 == 1 ? odd : even); });
  run();
  // The activity moves to and fro for 200,000 ps: 2 ps at rate 1, then 2 ps at rate 0.5. It does the last
  // 150,000 units at rate 1.
  EXPECT_EQ(ends[0], std::pair(std::uint64_t{2}, std::int64_t{350'000}));
}

// --- Instants ------------------------------------------------------------------------------------------------------

// Two members of one class run at 1/ps until 100 ps, and at 1/2 per ps from then on.
TEST_F(SharingTest, AChangedClassKeepsItsMembersAndTheirWork) {
  const ClassId c = bounded(per_ps);
  start(c, 150, 1);
  start(c, 300, 2);
  at(100, [&] { sharing.change_class(c, {.demands = {}, .bound = per_ps / 2}); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 200), Pair(2, 500)));
}

// A class with a weight of 3 instead of 1 leaves a quarter of the capacity to its neighbour, from 100 ps on.
TEST_F(SharingTest, AChangedClassTakesFromItsNeighbours) {
  const CapacityId k = capacity(4 * per_ps);
  const ClassId c = of({{k, 1}});
  start(c, 800, 1);
  start(of({{k, 1}}), 300, 2);
  at(100, [&] { sharing.change_class(c, {.demands = {{k, 1}}, .weight = 3}); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(2, 200), Pair(1, 275)));
}

TEST_F(SharingTest, AClassWithoutMembersMayChange) {
  const CapacityId k = capacity(4 * per_ps);
  const ClassId c = of({{k, 1}});
  start(of({{k, 1}}), 400, 1);
  start(c, 100, 2);  // until 50 ps
  at(60, [&] { sharing.change_class(c, {.demands = {{k, 1}}, .weight = 3}); });
  at(100, [&] { start(c, 60, 3); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(2, 50), Pair(3, 120), Pair(1, 140)));
}

TEST_F(SharingTest, ZeroWorkEndsInItsInstant) {
  const ClassId c = of({{capacity(per_ps), 1}});
  at(70, [&] { start(c, 0, 1); });
  start(c, 100, 2);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 70), Pair(2, 100)));
}

TEST_F(SharingTest, AReplacementInTheSameInstantSolvesNothing) {
  const ClassId c = of({{capacity(4 * per_ps), 1}});
  for (std::uint64_t i = 0; i < 4; ++i) {
    start(c, 1000 + 10 * static_cast<double>(i), i);
    then[i] = [this, c, i] {
      if (ends.size() < 40) start(c, 1000, i);
    };
  }
  loop.settle();
  const std::uint64_t before = sharing.solves();
  while (ends.size() < 30) loop.run_instant();
  EXPECT_EQ(sharing.solves(), before);
  EXPECT_EQ(ends[29], std::pair(std::uint64_t{1}, std::int64_t{8010}));
  run();
}

// The virtual clock of a class restarts when its only member is replaced. The new member must not end at once.
TEST_F(SharingTest, TheOnlyMemberMayBeReplaced) {
  const ClassId c = bounded(per_ps);
  start(c, 1000, 1);
  then[1] = [&] {
    if (ends.size() < 4) start(c, 400, 1);
  };
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000), Pair(1, 1400), Pair(1, 1800), Pair(1, 2200)));
}

TEST_F(SharingTest, SinksMayAddClassesStartAndMoveFromWithinAnEnd) {
  const CapacityId link = capacity(4 * per_ps);
  const ClassId c = of({{link, 1}}, 1, per_ps);
  const ActivityId other = start(c, 3000, 2);
  start(c, 1000, 1);
  start(c, 1000, 3);
  then[1] = [&] {
    ClassId last = c;
    for (int i = 0; i < 1000; ++i) last = of({{link, 1}}, 1, 0.5 * per_ps);
    sharing.move(other, last);
    start(last, 1000, 4);
    start(c, 500, 5);
  };
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1000), Pair(3, 1000), Pair(5, 1500), Pair(4, 3000), Pair(2, 5000)));
}

TEST_F(SharingTest, EndsOfOneInstantComeInTheOrderOfTheirStart) {
  const ClassId c = of({{capacity(per_ps), 1}});
  for (std::uint64_t i = 0; i < 5; ++i) start(c, 100, 10 - i);
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(10, 500), Pair(9, 500), Pair(8, 500), Pair(7, 500), Pair(6, 500)));
}

// --- Loaded latency ------------------------------------------------------------------------------------------------

struct Stretch {
  double growth;
  double exponent;
  std::uint64_t members;
};

struct LoadedLatency : SharingTest, ::testing::WithParamInterface<Stretch> {};

TEST_P(LoadedLatency, SatisfiesItsEquation) {
  constexpr double rate = 4.2e12;
  const auto [growth, exponent, members] = GetParam();
  const CapacityId hbm =
      sharing.add_capacity({.name = "hbm", .rate = rate, .latency_growth = growth, .latency_exponent = exponent});
  const ClassId c = sharing.add_class(
      {.demands = {{hbm, 1}}, .weight = 46e3, .window = 46e3, .latency = 396e-9, .latency_capacity = hbm});
  for (std::uint64_t i = 0; i < members; ++i) start(c, 1e6, i);
  loop.settle();
  const auto crowd = static_cast<double>(members);
  const double u = sharing.load(hbm) / rate;
  EXPECT_DOUBLE_EQ(sharing.load(hbm), crowd * sharing.rate_of(c));
  const double window_limit = 46e3 / (396e-9 * (1 + growth * std::pow(u, exponent)));
  EXPECT_NEAR(sharing.rate_of(c) / std::min(window_limit, rate / crowd), 1, 1e-5);
  run();
}

INSTANTIATE_TEST_SUITE_P(Grid, LoadedLatency,
                         ::testing::Values(Stretch{0, 1, 16}, Stretch{0.2, 1, 16}, Stretch{0.2, 4, 32},
                                           Stretch{1, 1, 36}, Stretch{1, 2, 36}, Stretch{1, 8, 40}, Stretch{1, 30, 48},
                                           Stretch{10, 1, 100}, Stretch{10, 8, 100}, Stretch{10, 0.3, 5},
                                           Stretch{0.5, 2, 54}, Stretch{0.5, 2, 60}, Stretch{0.5, 2, 10000}));

TEST_F(SharingTest, TwoMemoriesThatLoadEachOtherSettleBoth) {
  std::vector<CapacityId> hbm;
  for (const double growth : {0.5, 1.5}) {
    hbm.push_back(sharing.add_capacity({.name = "hbm", .rate = 4e12, .latency_growth = growth, .latency_exponent = 3}));
  }
  std::vector<ClassId> put;
  for (std::size_t g = 0; g < 2; ++g) {
    put.push_back(sharing.add_class({.demands = {{hbm[g], 1}, {hbm[1 - g], 2}},
                                     .weight = 8192,
                                     .window = 8192,
                                     .latency = 400e-9,
                                     .latency_capacity = hbm[g]}));
    for (std::uint64_t i = 0; i < 60; ++i) start(put[g], 1e6, i);
  }
  loop.settle();
  for (std::size_t g = 0; g < 2; ++g) {
    const double u = sharing.load(hbm[g]) / 4e12;
    const double growth = g == 0 ? 0.5 : 1.5;
    EXPECT_LT(u, 1);
    EXPECT_NEAR(sharing.rate_of(put[g]) * 400e-9 * (1 + growth * u * u * u) / 8192, 1, 1e-7);
  }
}

// An activity that always hits the cache takes nothing from the memory, but a busy memory may slow the activity down.
TEST_F(SharingTest, ALatencyMayGrowWithACapacityThatIsNotDemanded) {
  const CapacityId hbm = sharing.add_capacity({.name = "hbm", .rate = per_ps, .latency_growth = 1});
  const CapacityId l2 = capacity(10 * per_ps);
  const auto hits = [&](std::vector<Demand> demands) {
    return sharing.add_class(
        {.demands = std::move(demands), .weight = 1, .window = 1000, .latency = 1000e-12, .latency_capacity = hbm});
  };
  start(hits({{l2, 1}}), 1000, 1);
  start(hits({}), 2000, 2);
  const ClassId stream = of({{hbm, 1}}, 1, per_ps);
  at(500, [&] { start(stream, 1000, 3); });  // doubles the latency from 500 to 1500 ps
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 1500), Pair(3, 1500), Pair(2, 2500)));
  EXPECT_DOUBLE_EQ(sharing.served(hbm), 1000);
}

// Two activities with a window of 1,000 B each share one memory. One of them computes for 300 ps between its round
// trips. The memory serves 2 B/ps, so its latency L solves 1000 / L + 1000 / (L + 300) = 2, whatever the unloaded
// latency is: L = 872.015 ps.
TEST_F(SharingTest, PastSaturationADelayIsTimeWithNothingInFlight) {
  const CapacityId hbm = sharing.add_capacity({.name = "hbm", .rate = 2 * per_ps});
  const auto loop_with = [&](double delay) {
    return sharing.add_class({.demands = {{hbm, 1}},
                              .weight = 1000,
                              .window = 1000,
                              .latency = 100e-12,
                              .delay = delay,
                              .latency_capacity = hbm});
  };
  const ClassId flowing = loop_with(0);
  const ClassId halting = loop_with(300e-12);
  start(flowing, 1e6, 1);
  start(halting, 1e6, 2);
  loop.settle();
  const double latency = 0.5 * (700 + std::sqrt(700.0 * 700 + 4 * 150e3));
  EXPECT_NEAR(sharing.rate_of(flowing), 1000 / latency * per_ps, 1e-12 * per_ps);
  EXPECT_NEAR(sharing.rate_of(halting), 1000 / (latency + 300) * per_ps, 1e-12 * per_ps);
  EXPECT_NEAR(sharing.load(hbm), 2 * per_ps, 1e-12 * per_ps);
}

// With `in_turn`, bound and round trip partly overlap. The test has an almost idle capacity, then a loaded one.
TEST_F(SharingTest, BoundAndRoundTripInTurn) {
  const CapacityId hbm = sharing.add_capacity({.name = "hbm", .rate = 10 * per_ps, .latency_growth = 1});
  ClassSpec spec{.demands = {{hbm, 1e-3}},
                 .weight = 1000,
                 .bound = 6 * per_ps,
                 .window = 1000,
                 .latency = 100e-12,
                 .delay = 55e-12,
                 .latency_capacity = hbm,
                 .in_turn = true};
  const ClassId light = sharing.add_class(spec);
  start(light, 1e6, 1);
  loop.settle();
  const auto together = [](double a, double b) { return std::pow(std::pow(a, -4) + std::pow(b, -4), -0.25); };
  EXPECT_NEAR(sharing.rate_of(light), together(6, 1000 / 155.) * per_ps, 1e-3 * per_ps);
  spec.demands[0].per_work = 1;
  const ClassId heavy = sharing.add_class(spec);
  start(heavy, 1e6, 2);
  loop.settle();
  const double load = sharing.load(hbm) / (10 * per_ps);
  const double rate = together(6, 1000 / (100 * (1 + load) + 55));
  EXPECT_NEAR(sharing.rate_of(heavy), rate * per_ps, 1e-6 * per_ps);
  EXPECT_NEAR(load, rate * 1.001 / 10, 1e-8);
  spec.window = 0;
  EXPECT_THROW(sharing.add_class(spec), InvariantError);
}

// Below saturation, load stretches the latency but not the delay.
TEST_F(SharingTest, ADelayIsNotStretched) {
  const CapacityId hbm = sharing.add_capacity({.name = "hbm", .rate = 10 * per_ps, .latency_growth = 1});
  const ClassId c = sharing.add_class({.demands = {{hbm, 1}},
                                       .weight = 1000,
                                       .window = 1000,
                                       .latency = 100e-12,
                                       .delay = 55e-12,
                                       .latency_capacity = hbm});
  start(c, 1e6, 1);
  loop.settle();
  // The rate r (per ps) solves r = 1000 / (100 (1 + r / 10) + 55), that is 10 r^2 + 155 r = 1000.
  const double r = (-155 + std::sqrt(155.0 * 155 + 4 * 10 * 1000)) / 20;
  EXPECT_NEAR(sharing.rate_of(c), r * per_ps, 1e-7 * per_ps);
}

// --- A measured GPU ------------------------------------------------------------------------------------------------

// One workgroup that copies (the victim) runs beside workgroups that read, on an H200. latency_growth and
// latency_exponent come from a least-squares fit to the rows with 8 KiB; docs/explanation/sharing.md explains the fit
// and why the rows with 32 KiB deviate.
struct Beside {
  double batch;  // bytes in flight of the victim
  std::uint64_t readers;
  double victim;   // measured rate of the copy, in GB/s
  double reading;  // measured rate of all readers together, in GB/s
  double victim_error;
  double reading_error;
};

struct MeasuredGpu : SharingTest, ::testing::WithParamInterface<Beside> {};

TEST_P(MeasuredGpu, VictimAndReadersShareAsMeasured) {
  const Beside& row = GetParam();
  const CapacityId hbm =
      sharing.add_capacity({.name = "hbm", .rate = 4.2e12, .latency_growth = 0.34, .latency_exponent = 1.7});
  const ClassId victim = sharing.add_class({.demands = {{hbm, 2}},  // a copied byte is read and written
                                            .weight = row.batch,
                                            .bound = 48.7e9,
                                            .window = row.batch,
                                            .latency = 396e-9,
                                            .latency_capacity = hbm});
  const ClassId reader = sharing.add_class(
      {.demands = {{hbm, 1}}, .weight = 46e3, .window = 46e3, .latency = 396e-9, .latency_capacity = hbm});
  start(victim, 1e6, 0);
  for (std::uint64_t i = 0; i < row.readers; ++i) start(reader, 1e6, 1 + i);
  loop.settle();
  EXPECT_NEAR(sharing.rate_of(victim) / (row.victim * 1e9) - 1, row.victim_error, 0.001);
  if (row.readers == 0) return;
  const double reading = sharing.rate_of(reader) * static_cast<double>(row.readers);
  EXPECT_NEAR(reading / (row.reading * 1e9) - 1, row.reading_error, 0.001);
}

INSTANTIATE_TEST_SUITE_P(Fitted, MeasuredGpu,
                         ::testing::Values(Beside{8192, 0, 20.7, 0, -0.001, 0},
                                           Beside{8192, 16, 18.6, 1780, 0.032, -0.031},
                                           Beside{8192, 32, 16.8, 3144, 0.022, -0.019},
                                           Beside{8192, 64, 11.3, 4169, 0.029, 0.002},
                                           Beside{8192, 96, 8.1, 3909, -0.042, 0.070}));
INSTANTIATE_TEST_SUITE_P(HeldOut, MeasuredGpu,
                         ::testing::Values(Beside{32768, 0, 48.5, 0, 0.004, 0},
                                           Beside{32768, 16, 46.1, 1698, 0.056, 0.012},
                                           Beside{32768, 32, 42.6, 3101, 0.143, -0.010},
                                           Beside{32768, 64, 29.4, 4100, 0.555, 0.002},
                                           Beside{32768, 96, 20.7, 4221, 0.484, -0.020}));

// --- Figures and checks --------------------------------------------------------------------------------------------

TEST_F(SharingTest, ObserversSeeEachSolve) {
  struct Log : SharingObserver {
    std::vector<std::tuple<CapacityId, std::int64_t, double>> seen;
    void capacity_load(CapacityId c, Time now, double load) override { seen.emplace_back(c, now.ps, load); }
  } log;
  sharing.observe(&log);
  const CapacityId idle = capacity(1);
  const CapacityId link = capacity(per_ps);
  const ClassId c = of({{link, 1}}, 1, 0.75 * per_ps);
  EXPECT_EQ(sharing.capacity(link).rate, per_ps);
  EXPECT_EQ(sharing.load(idle), 0);
  start(c, 750, 1);
  at(500, [&] { start(c, 125, 2); });
  run();
  EXPECT_THAT(log.seen, ElementsAre(std::tuple(link, 0, 0.75 * per_ps), std::tuple(link, 500, per_ps),
                                    std::tuple(link, 750, 0.75 * per_ps), std::tuple(link, 1084, 0)));
}

TEST_F(SharingTest, ConservationHoldsOnTheWay) {
  const CapacityId link = capacity(7e11);
  const ClassId a = of({{link, 1}}, 1);
  const ClassId b = of({{link, 3}}, 2, 0.1 * per_ps);
  double given = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const double work = 100 + 37.3 * static_cast<double>(i);
    given += work * (i % 2 == 0 ? 1 : 3);
    at(static_cast<std::int64_t>(i * 91), [&, i, work] { start(i % 2 == 0 ? a : b, work, i); });
  }
  while (!loop.idle()) {
    loop.run_instant();
    sharing.check_conservation();
  }
  EXPECT_NEAR(sharing.served(link) / given, 1, 1e-12);
}

// At their limits, three classes demand about 119 of the capacity `wide`, whose rate is 100. Two of them can never take
// more than window / delay. So after the capacity `narrow` has stopped the first class, no filling level fills `wide`,
// and this is still true when `later` has stopped the second class.
TEST_F(SharingTest, ACapacityThatNoLevelFillsLimitsNobody) {
  const CapacityId wide = capacity(100), narrow = capacity(1), later = capacity(35);
  const ClassId first = of({{wide, 1}, {narrow, 1}}, 1, 50);
  const auto delayed = [&](double window, double weight, std::vector<Demand> demands) {
    return sharing.add_class(
        {.demands = std::move(demands), .weight = weight, .window = window, .latency = 0.01, .delay = 1});
  };
  const ClassId second = delayed(40, 1, {{wide, 1}, {later, 1}});
  const ClassId third = delayed(30, 4, {{wide, 1}});
  for (const ClassId c : {first, second, third}) start(c, 1e6, c);
  loop.settle();
  EXPECT_DOUBLE_EQ(sharing.rate_of(first), 1);
  EXPECT_DOUBLE_EQ(sharing.rate_of(second), 35);
  EXPECT_DOUBLE_EQ(sharing.rate_of(third), 30 / 1.01);
}

TEST_F(SharingTest, RefusesWhatMakesNoSense) {
  EXPECT_THROW(capacity(0), InvariantError);
  EXPECT_THROW(capacity(inf), InvariantError);
  EXPECT_THROW(sharing.add_capacity({.name = "c", .rate = 1, .latency_growth = -1}), InvariantError);
  const CapacityId link = capacity(1);
  EXPECT_THROW(of({{link, 1}}, 0), InvariantError);
  EXPECT_THROW(of({{link, 0}}), InvariantError);
  EXPECT_THROW(of({{9, 1}}), InvariantError);
  EXPECT_THROW(of({{link, 1}}, 1, 0), InvariantError);
  EXPECT_THROW(of({}), InvariantError);
  EXPECT_THROW(sharing.add_class({.demands = {{link, 1}}, .weight = 1, .window = 1}), InvariantError);
  EXPECT_THROW(sharing.add_class({.demands = {}, .bound = 1, .latency_capacity = 9}), InvariantError);
  const ClassId c = of({{link, 1}});
  EXPECT_THROW(sharing.change_class(c, {.demands = {{link, 2}}, .weight = 1}), InvariantError);
  EXPECT_THROW(sharing.change_class(c, {.demands = {{link, 1}}}), InvariantError);
  EXPECT_THROW(start(c, -1, 0), InvariantError);
  EXPECT_THROW(start(c, inf, 0), InvariantError);
  start(c, 1e9, 0);
  EXPECT_THROW(loop.run(), EndOfTime);  // 1e9 s is beyond 2^63 ps
}

// Two members with a rate of 2 per ps run for 3 ps, and one of them for 5 ps more, with 4 meter units per unit of work.
// add_level() adds 10 units per ps from 1 to 7 ps.
// Two units of work at a rate of 1 per 5 ps, with 4 meter units per unit of work and 3 for the second half.
TEST_F(SharingTest, AClassMayChangeWhatItsWorkCounts) {
  const MeterId one = sharing.add_meter({"one", 100});
  const MeterId other = sharing.add_meter({"other", 100});
  const ClassId c = sharing.add_class({.demands = {}, .metered = {{one, 4}}, .bound = 0.2 * per_ps});
  start(c, 2, 1);
  at(5, [&] { sharing.change_class(c, {.demands = {}, .metered = {{one, 3}, {other, 1}}, .bound = 0.2 * per_ps}); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 10)));
  EXPECT_NEAR(sharing.counted(one), 4 + 3, 1e-9);
  EXPECT_NEAR(sharing.counted(other), 1, 1e-9);
  EXPECT_NEAR(sharing.level(one) / per_ps, 0, 1e-9);
}

TEST_F(SharingTest, AMeterCountsAndChangesNothing) {
  const MeterId meter = sharing.add_meter({"m", 100});
  const ClassId metered = sharing.add_class({.demands = {}, .metered = {{meter, 4}}, .bound = 2 * per_ps});
  start(metered, 6, 1);
  start(metered, 16, 2);
  at(1, [&] { sharing.add_level(meter, 10 * per_ps); });
  at(7, [&] { sharing.add_level(meter, -10 * per_ps); });
  run();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 3), Pair(2, 8)));
  EXPECT_NEAR(sharing.counted(meter), 4 * 22 + 60, 1e-9);
  EXPECT_NEAR(sharing.highest_level(meter) / per_ps, 2 * 2 * 4 + 10, 1e-9);
  EXPECT_NEAR(sharing.level(meter) / per_ps, 0, 1e-9);
}

}  // namespace
}  // namespace moire::core
