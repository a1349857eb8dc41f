#include "sim/core/flags.hpp"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "sim/core/invariant.hpp"

namespace moire::core {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct Log : EventSink {
  explicit Log(Calendar& c) : calendar(c) {}
  void fire(std::uint64_t payload) override { fired.emplace_back(payload, calendar.now().ps); }
  Calendar& calendar;
  std::vector<std::pair<std::uint64_t, std::int64_t>> fired;
};

struct FlagsTest : ::testing::Test {
  Calendar calendar;
  Flags flags{calendar};
  Log log{calendar};
  void drain() {
    while (!calendar.empty()) calendar.step();
  }
};

TEST_F(FlagsTest, AWaiterHearsOfItsFlagAfterTheNotice) {
  const FlagId flag = flags.add(1);
  flags.wait(flag, 1, Time{700}, log, 9);
  EXPECT_TRUE(calendar.empty());
  calendar.advance_to(Time{1000});
  flags.raise(flag);
  EXPECT_EQ(flags.value(flag), 1);
  EXPECT_TRUE(log.fired.empty());
  drain();
  EXPECT_THAT(log.fired, ElementsAre(Pair(9, 1700)));
  EXPECT_TRUE(flags.waiting().empty());
}

TEST_F(FlagsTest, AReachedFlagIsNoticedAtOnce) {
  const FlagId flag = flags.add(1);
  flags.raise(flag, 5);
  flags.wait(flag, 5, Time{30}, log, 1);
  flags.wait(flag, 0, Time{0}, log, 2);
  drain();
  EXPECT_THAT(log.fired, ElementsAre(Pair(2, 0), Pair(1, 30)));
}

TEST_F(FlagsTest, WaitersOfOneRaiseAreWokenInTheOrderTheyBegan) {
  const FlagId flag = flags.add(1);
  flags.wait(flag, 2, Time{}, log, 1);
  flags.wait(flag, 1, Time{}, log, 2);
  flags.wait(flag, 3, Time{}, log, 3);
  flags.wait(flag, 2, Time{}, log, 4);
  flags.raise(flag, 2);
  drain();
  EXPECT_THAT(log.fired, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(4, 0)));
  ASSERT_EQ(flags.waiting().size(), 1);
  EXPECT_EQ(flags.waiting()[0].payload, 3);
  flags.wait(flag, 3, Time{}, log, 5);  // reuses a free entry
  flags.raise(flag);
  drain();
  EXPECT_THAT(log.fired, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(4, 0), Pair(3, 0), Pair(5, 0)));
}

TEST_F(FlagsTest, EachTargetIsReachedByItsOwnRaise) {
  const FlagId flag = flags.add(1);
  for (std::uint64_t target = 4; target >= 1; --target)
    flags.wait(flag, static_cast<std::int64_t>(target), Time{}, log, target);
  for (std::int64_t at = 1; at <= 4; ++at) {
    calendar.advance_to(Time{at * 10});
    flags.raise(flag);
    drain();
  }
  EXPECT_THAT(log.fired, ElementsAre(Pair(1, 10), Pair(2, 20), Pair(3, 30), Pair(4, 40)));
}

TEST_F(FlagsTest, FlagsAreIndependent) {
  const FlagId first = flags.add(3);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(flags.add(2), 3);
  EXPECT_EQ(flags.size(), 5);
  flags.wait(4, 1, Time{2}, log, 1);
  flags.wait(1, 2, Time{1}, log, 2);
  flags.wait(1, 1, Time{3}, log, 3);
  flags.raise(0);
  drain();
  EXPECT_TRUE(log.fired.empty());
  const auto waiting = flags.waiting();
  ASSERT_EQ(waiting.size(), 3);
  EXPECT_EQ(waiting[0].flag, 1);
  EXPECT_EQ(waiting[0].target, 2);
  EXPECT_EQ(waiting[1].payload, 3);
  EXPECT_EQ(waiting[1].notice, Time{3});
  EXPECT_EQ(waiting[2].flag, 4);
  EXPECT_EQ(waiting[2].sink, &log);
}

TEST_F(FlagsTest, AWokenSinkMayWaitAgain) {
  struct Again : EventSink {
    Again(Flags& f, Calendar& c) : flags(f), calendar(c) {}
    void fire(std::uint64_t target) override {
      at.push_back(calendar.now().ps);
      if (target < 3) flags.wait(0, static_cast<std::int64_t>(target) + 1, Time{5}, *this, target + 1);
    }
    Flags& flags;
    Calendar& calendar;
    std::vector<std::int64_t> at;
  };
  flags.add(1);
  Again again(flags, calendar);
  flags.wait(0, 1, Time{5}, again, 1);
  flags.raise(0, 2);
  drain();
  EXPECT_THAT(again.at, ElementsAre(5, 10));
  flags.raise(0);
  drain();
  EXPECT_THAT(again.at, ElementsAre(5, 10, 15));
}

TEST_F(FlagsTest, AFlagOnlyRisesAndANoticeIsNotNegative) {
  flags.add(1);
  EXPECT_THROW(flags.raise(0, 0), InvariantError);
  EXPECT_THROW(flags.raise(0, -1), InvariantError);
  EXPECT_THROW(flags.wait(0, 1, Time{-1}, log, 0), InvariantError);
}

TEST_F(FlagsTest, ABarrierOfManyCostsNoScanPerArrival) {
  constexpr std::int64_t parties = 100'000;
  flags.add(1);
  for (std::int64_t i = 0; i < parties; ++i) {
    flags.wait(0, parties, Time{}, log, static_cast<std::uint64_t>(i));
    flags.raise(0);
  }
  drain();
  ASSERT_EQ(log.fired.size(), parties);
  EXPECT_EQ(log.fired.back().first, parties - 1);
}

}  // namespace
}  // namespace moire::core
