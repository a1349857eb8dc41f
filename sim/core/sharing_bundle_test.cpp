// Tests of bundles. Simple cases are compared with closed forms. Random histories are compared with the same histories
// of activities that are in no bundle and move one by one.
#include <gmock/gmock.h>

#include <random>
#include <utility>
#include <vector>

#include "sim/core/invariant.hpp"
#include "sim/core/sharing.hpp"

namespace moire::core {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr double per_ps = 1e12;  // units per second: one unit of work per picosecond

struct BundleTest : ::testing::Test, EventSink {
  RunLoop loop;
  Sharing sharing{loop};
  std::vector<std::pair<std::uint64_t, std::int64_t>> ends;  // payload, end in ps

  void fire(std::uint64_t payload) override { ends.emplace_back(payload, loop.now().ps); }
  ClassId bounded(double bound) { return sharing.add_class({.demands = {}, .weight = 0, .bound = bound}); }
  // Runs all events before `ps`, and makes `ps` the present time.
  void run_to(std::int64_t ps) {
    struct Nothing : EventSink {
      void fire(std::uint64_t) override {}
    } nothing;
    loop.settle();
    loop.calendar().schedule(Time{ps}, nothing, 0);
    while (loop.now().ps < ps) loop.run_instant();
  }
};

TEST_F(BundleTest, MembersKeepTheirWorkWhenTheBundleMoves) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.5 * per_ps);
  const BundleId bundle = sharing.add_bundle(fast);
  for (const double work : {1000.0, 600.0, 800.0})
    sharing.join(sharing.start(fast, work, *this, static_cast<std::uint64_t>(work)), bundle);
  run_to(400);
  sharing.move_bundle(bundle, slow);  // 600, 200 and 400 units are left
  loop.settle();
  EXPECT_EQ(sharing.members(fast), 0);
  EXPECT_EQ(sharing.members(slow), 3);
  run_to(1000);  // the member of 600 units ended at 800 ps; the others have 300 and 100 units left
  sharing.move_bundle(bundle, fast);
  loop.run();
  sharing.check_conservation();
  EXPECT_THAT(ends, ElementsAre(Pair(600, 800), Pair(800, 1100), Pair(1000, 1300)));
  EXPECT_FALSE(sharing.has_members(bundle));
}

TEST_F(BundleTest, AnActivityMayJoinFromAnotherClass) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.25 * per_ps);
  const BundleId bundle = sharing.add_bundle(fast);
  sharing.join(sharing.start(fast, 1000, *this, 1), bundle);
  const ActivityId late = sharing.start(slow, 200, *this, 2);
  run_to(400);
  sharing.join(late, bundle);  // 100 units are left, so it ends before the first member of the bundle
  EXPECT_THROW(sharing.move(late, slow), InvariantError);
  loop.run();
  sharing.check_conservation();
  EXPECT_THAT(ends, ElementsAre(Pair(2, 500), Pair(1, 1000)));
}

TEST_F(BundleTest, AnEmptyBundleMoves) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.5 * per_ps);
  const BundleId bundle = sharing.add_bundle(fast);
  sharing.join(sharing.start(fast, 100, *this, 1), bundle);
  loop.run();
  sharing.move_bundle(bundle, slow);
  sharing.join(sharing.start(slow, 100, *this, 2), bundle);
  loop.run();
  sharing.check_conservation();
  EXPECT_THAT(ends, ElementsAre(Pair(1, 100), Pair(2, 300)));
}

TEST_F(BundleTest, MembersThatEndTogetherEndInTheOrderInWhichTheyJoined) {
  const ClassId fast = bounded(per_ps);
  const ClassId slow = bounded(0.5 * per_ps);
  const BundleId bundle = sharing.add_bundle(fast);
  for (std::uint64_t i = 0; i < 3; ++i) sharing.join(sharing.start(fast, 1000, *this, i), bundle);
  run_to(500);
  sharing.move_bundle(bundle, slow);
  loop.run();
  EXPECT_THAT(ends, ElementsAre(Pair(0, 1500), Pair(1, 1500), Pair(2, 1500)));
}

// The workgroups of a few CUs: all workgroups of a CU move together, at random times and to random classes. In one copy
// they are in bundles, in the other each is moved alone. All must end in the same picosecond, but for rounding.
TEST(BundleProperty, ABundleIsWhatItsMembersAre) {
  struct Copy : EventSink {
    RunLoop loop;
    Sharing sharing{loop};
    std::vector<Time> ends = std::vector<Time>(200);
    void fire(std::uint64_t payload) override { ends[payload] = loop.now(); }
  };
  struct Step : EventSink {
    void fire(std::uint64_t) override {}
  } step;
  std::mt19937_64 random(23);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    Copy bundled;
    Copy alone;
    constexpr std::size_t cus = 3;
    constexpr ClassId classes = 5;
    for (Copy* copy : {&bundled, &alone}) {
      const CapacityId memory = copy->sharing.add_capacity({"memory", 5e12, 0.3, 2});
      for (ClassId i = 0; i < classes; ++i)
        copy->sharing.add_class({.demands = {{memory, 1}},
                                 .weight = 1000.0 * (i + 1),
                                 .bound = 3e11 / (i + 1),
                                 .window = 1000.0 * (i + 1),
                                 .latency = 4e-9,
                                 .latency_capacity = memory});
    }
    struct Cu {
      ClassId in = 0;
      BundleId bundle = 0;
      std::vector<std::pair<ActivityId, std::uint64_t>> alone;
    };
    std::vector<Cu> units(cus);
    for (Cu& cu : units) cu.bundle = bundled.sharing.add_bundle(cu.in);
    std::uint64_t started = 0;
    for (std::int64_t now = 0; started < alone.ends.size(); now += 1 + static_cast<std::int64_t>(random() % 20000)) {
      for (Copy* copy : {&bundled, &alone}) {
        copy->loop.calendar().schedule(Time{now}, step, 0);
        while (copy->loop.now().ps < now) copy->loop.run_instant();
      }
      Cu& cu = units[random() % cus];
      for (std::uint64_t more = random() % 6; more > 0 && started < alone.ends.size(); --more, ++started) {
        const double work = static_cast<double>(1 + random() % 20000);
        bundled.sharing.join(bundled.sharing.start(cu.in, work, bundled, started), cu.bundle);
        cu.alone.emplace_back(alone.sharing.start(cu.in, work, alone, started), started);
      }
      cu.in = static_cast<ClassId>(random() % classes);
      bundled.sharing.move_bundle(cu.bundle, cu.in);
      for (const auto& [activity, number] : cu.alone) {
        if (alone.ends[number] == Time{}) alone.sharing.move(activity, cu.in);
      }
      for (Copy* copy : {&bundled, &alone}) copy->loop.settle();
      for (ClassId i = 0; i < classes; ++i) ASSERT_EQ(bundled.sharing.members(i), alone.sharing.members(i));
    }
    for (Copy* copy : {&bundled, &alone}) {
      copy->loop.run();
      copy->sharing.check_conservation();
    }
    for (std::size_t i = 0; i < alone.ends.size(); ++i)
      ASSERT_LE(std::abs(bundled.ends[i].ps - alone.ends[i].ps), 1) << "activity " << i;
  }
}

}  // namespace
}  // namespace moire::core
