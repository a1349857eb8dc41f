#include "sim/core/flags.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/core/invariant.hpp"

namespace moire::core {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct Log : FlagWaiter {
  void reaches(std::uint64_t payload, Time at) override { told.emplace_back(payload, at.ps); }
  std::vector<std::pair<std::uint64_t, std::int64_t>> told;
};

struct FlagsTest : ::testing::Test {
  Calendar calendar;
  Flags flags{calendar};
  Log log;
  void drain() {
    while (!calendar.empty()) calendar.step();
  }
};

TEST_F(FlagsTest, AWaiterLearnsOfItsFlagWhenItRises) {
  const FlagId flag = flags.add(1);
  flags.wait(flag, 1, log, 9);
  calendar.advance_to(Time{1000});
  EXPECT_EQ(flags.reached(flag, 1), Time::max());
  EXPECT_TRUE(log.told.empty());
  flags.raise(flag);
  EXPECT_EQ(flags.value(flag), 1);
  EXPECT_THAT(log.told, ElementsAre(Pair(9, 1000)));
  EXPECT_TRUE(flags.waiting().empty());
}

TEST_F(FlagsTest, AReachedFlagIsKnownAtOnce) {
  const FlagId flag = flags.add(1);
  flags.raise(flag, 5);
  flags.wait(flag, 5, log, 1);
  flags.wait(flag, 0, log, 2);
  flags.wait(flags.add(1), 0, log, 3);
  EXPECT_THAT(log.told, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(3, 0)));
}

TEST_F(FlagsTest, WaitersOfOneRaiseAreToldInTheOrderTheyBegan) {
  const FlagId flag = flags.add(1);
  flags.wait(flag, 2, log, 1);
  flags.wait(flag, 1, log, 2);
  flags.wait(flag, 3, log, 3);
  flags.wait(flag, 2, log, 4);
  flags.raise(flag, 2);
  EXPECT_THAT(log.told, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(4, 0)));
  ASSERT_EQ(flags.waiting().size(), 1);
  EXPECT_EQ(flags.waiting()[0].payload, 3);
  flags.wait(flag, 3, log, 5);  // reuses a free entry
  flags.raise(flag);
  EXPECT_THAT(log.told, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(4, 0), Pair(3, 0), Pair(5, 0)));
}

TEST_F(FlagsTest, EachTargetIsReachedByItsOwnRaise) {
  const FlagId flag = flags.add(1);
  for (std::uint64_t target = 4; target >= 1; --target)
    flags.wait(flag, static_cast<std::int64_t>(target), log, target);
  for (std::int64_t at = 1; at <= 4; ++at) {
    calendar.advance_to(Time{at * 10});
    flags.raise(flag);
  }
  EXPECT_THAT(log.told, ElementsAre(Pair(1, 10), Pair(2, 20), Pair(3, 30), Pair(4, 40)));
}

TEST_F(FlagsTest, FlagsAreIndependent) {
  const FlagId first = flags.add(3);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(flags.add(2), 3);
  EXPECT_EQ(flags.size(), 5);
  flags.wait(4, 1, log, 1);
  flags.wait(1, 2, log, 2);
  flags.wait(1, 1, log, 3);
  flags.raise(0);
  EXPECT_TRUE(log.told.empty());
  const auto waiting = flags.waiting();
  ASSERT_EQ(waiting.size(), 3);
  EXPECT_EQ(waiting[0].flag, 1);
  EXPECT_EQ(waiting[0].target, 2);
  EXPECT_EQ(waiting[1].payload, 3);
  EXPECT_EQ(waiting[2].flag, 4);
  EXPECT_EQ(waiting[2].waiter, &log);
}

// raise_at() raises the flag at the given time, whatever the order of the calls is.
TEST_F(FlagsTest, ARaiseAtALaterTimeIsAnEvent) {
  const FlagId flag = flags.add(1);
  flags.raise_at(flag, Time{50});
  flags.raise_at(flag, Time{20});
  EXPECT_EQ(flags.reached(flag, 1), Time::max());
  flags.wait(flag, 1, log, 1);
  flags.wait(flag, 2, log, 2);
  EXPECT_TRUE(log.told.empty());
  drain();
  EXPECT_THAT(log.told, ElementsAre(Pair(1, 20), Pair(2, 50)));
}

// If a flag is `in_order`, waiters learn beforehand when their targets are reached, and the raises need no events.
TEST_F(FlagsTest, ARaiseInOrderIsKnownBeforehand) {
  const FlagId flag = flags.add(2, true);
  flags.wait(flag, 2, log, 2);
  flags.raise_at(flag, Time{20});
  flags.raise_at(flag, Time{50});
  flags.raise_at(flag, Time{70});
  EXPECT_TRUE(calendar.empty());
  EXPECT_THAT(log.told, ElementsAre(Pair(2, 50)));
  flags.wait(flag, 1, log, 1);
  flags.wait(flag, 3, log, 3);
  EXPECT_THAT(log.told, ElementsAre(Pair(2, 50), Pair(1, 20), Pair(3, 70)));
  EXPECT_EQ(flags.reached(flag, 4), Time::max());
  const std::vector<std::pair<std::int64_t, std::int64_t>> values = {{0, 0},  {19, 0}, {20, 1},
                                                                     {50, 2}, {69, 2}, {70, 3}};
  for (const auto& [at, value] : values) {
    calendar.advance_to(Time{at});
    EXPECT_EQ(flags.value(flag), value) << at;
    for (std::int64_t target = 1; target <= 3; ++target)
      EXPECT_EQ(flags.reached(flag, target).ps, std::max(at, target == 1 ? 20L : target == 2 ? 50L : 70L));
  }
  flags.raise_at(flag, Time{90});
  EXPECT_EQ(flags.value(flag), 3);
  EXPECT_EQ(flags.reached(flag, 2).ps, 70);
  EXPECT_EQ(flags.reached(flag, 4).ps, 90);
}

// Compares an `in_order` flag with a flag whose raises are events, for random raises whose times never decrease.
TEST_F(FlagsTest, InOrderIsWhatEventsGive) {
  const FlagId events = flags.add(1);
  const FlagId in_order = flags.add(1, true);
  Log by_event, by_order;
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  Time last;
  std::int64_t sent = 0;
  for (std::uint64_t step = 0; step < 2000; ++step) {
    const Time now{static_cast<std::int64_t>(step) * 10};
    while (!calendar.empty() && calendar.next_time() <= now) calendar.step();
    calendar.advance_to(now);
    if (draw(2) == 0) {
      last = std::max(last, now + Time{draw(60)});
      for (const FlagId flag : {events, in_order}) flags.raise_at(flag, last);
      ++sent;
    }
    if (draw(2) == 0) {
      const std::int64_t target = std::max<std::int64_t>(0, sent + draw(8) - 4);
      flags.wait(events, target, by_event, step);
      flags.wait(in_order, target, by_order, step);
    }
    while (!calendar.empty() && calendar.next_time() <= now) calendar.step();
    EXPECT_EQ(flags.value(events), flags.value(in_order));
  }
  drain();
  const auto sorted = [](Log log) {
    std::sort(log.told.begin(), log.told.end());
    return log.told;
  };
  EXPECT_GT(by_event.told.size(), 500U);
  EXPECT_EQ(sorted(by_event), sorted(by_order));
}

// As long as nobody waits for a flag, its raises need no events.
TEST_F(FlagsTest, ARaiseThatNobodyWaitsForIsNoEvent) {
  const FlagId flag = flags.add(1);
  for (const std::int64_t at : {50, 20, 30}) flags.raise_at(flag, Time{at});
  EXPECT_TRUE(calendar.empty());
  calendar.advance_to(Time{25});
  EXPECT_EQ(flags.value(flag), 1);
  flags.raise(flag);
  EXPECT_EQ(flags.value(flag), 2);
  EXPECT_EQ(flags.reached(flag, 2), Time{25});
  EXPECT_EQ(flags.reached(flag, 3), Time::max());
  flags.wait(flag, 4, log, 4);
  EXPECT_FALSE(calendar.empty());
  flags.raise_at(flag, Time{40});
  drain();
  EXPECT_THAT(log.told, ElementsAre(Pair(4, 40)));
  EXPECT_EQ(flags.value(flag), 5);
  EXPECT_EQ(calendar.fired(), 3U);
}

TEST_F(FlagsTest, RaisesInAnyOrderReachATargetInTheOrderOfTheirTimes) {
  const FlagId flag = flags.add(1);
  std::uint64_t state = 1;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  std::vector<std::int64_t> raises;
  std::vector<std::pair<std::int64_t, std::int64_t>> waits;  // when, target
  for (std::int64_t now = 0; now < 20000; now += 10) {
    while (!calendar.empty() && calendar.next_time() <= Time{now}) calendar.step();
    calendar.advance_to(Time{now});
    for (std::int64_t more = draw(3); more > 0; --more) {
      raises.push_back(now + draw(200));
      flags.raise_at(flag, Time{raises.back()});
    }
    if (draw(40) == 0) {
      raises.push_back(now);
      flags.raise(flag);
    }
    const auto risen = std::count_if(raises.begin(), raises.end(), [&](std::int64_t at) { return at <= now; });
    EXPECT_EQ(flags.value(flag), risen);
    if (draw(20) > 0) continue;
    waits.emplace_back(now, std::max<std::int64_t>(0, risen + draw(8) - 2));
    flags.wait(flag, waits.back().second, log, waits.size() - 1);
  }
  drain();
  std::sort(raises.begin(), raises.end());
  ASSERT_EQ(log.told.size(), waits.size());
  ASSERT_GT(waits.size(), 50U);
  for (const auto& [number, at] : log.told) {
    const auto [when, target] = waits[number];
    EXPECT_EQ(at, std::max(when, target == 0 ? 0 : raises[static_cast<std::size_t>(target) - 1])) << number;
  }
}

TEST_F(FlagsTest, AWaiterMayWaitAgain) {
  struct Again : FlagWaiter {
    explicit Again(Flags& f) : flags(f) {}
    void reaches(std::uint64_t target, Time when) override {
      at.push_back(when.ps);
      if (target < 3) flags.wait(0, static_cast<std::int64_t>(target) + 1, *this, target + 1);
    }
    Flags& flags;
    std::vector<std::int64_t> at;
  };
  flags.add(1);
  Again again(flags);
  flags.wait(0, 1, again, 1);
  flags.raise(0, 2);
  EXPECT_THAT(again.at, ElementsAre(0, 0));
  flags.raise(0);
  EXPECT_THAT(again.at, ElementsAre(0, 0, 0));
}

TEST_F(FlagsTest, AFlagOnlyRises) {
  flags.add(2, true);
  EXPECT_THROW(flags.raise(0, 0), InvariantError);
  EXPECT_THROW(flags.raise(0, -1), InvariantError);
  flags.raise_at(1, Time{5});
  EXPECT_THROW(flags.raise(1), InvariantError);
}

TEST_F(FlagsTest, ABarrierOfManyCostsNoScanPerArrival) {
  constexpr std::int64_t parties = 100'000;
  flags.add(1);
  for (std::int64_t i = 0; i < parties; ++i) {
    flags.wait(0, parties, log, static_cast<std::uint64_t>(i));
    flags.raise(0);
  }
  ASSERT_EQ(log.told.size(), parties);
  EXPECT_EQ(log.told.back().first, parties - 1);
}

}  // namespace
}  // namespace moire::core
