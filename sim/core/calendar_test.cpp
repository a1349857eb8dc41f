#include "sim/core/calendar.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::core {
namespace {

using ::testing::ElementsAre;

struct Log : EventSink {
  explicit Log(Calendar& c) : calendar(c) {}
  void fire(std::uint64_t payload) override {
    order.push_back(payload);
    times.push_back(calendar.now().ps);
  }
  Calendar& calendar;
  std::vector<std::uint64_t> order;
  std::vector<std::int64_t> times;
};

void drain(Calendar& calendar) {
  while (!calendar.empty()) calendar.step();
}

TEST(Calendar, FiresByTimeThenComponentThenSequence) {
  Calendar calendar;
  Log log(calendar);
  calendar.schedule(Time{20}, log, 1);
  calendar.schedule(Time{10}, log, 2, 5);
  calendar.schedule(Time{10}, log, 3, 1);
  calendar.schedule(Time{10}, log, 4, 1);
  calendar.schedule(Time{10}, log, 5, 0);
  drain(calendar);
  EXPECT_THAT(log.order, ElementsAre(5, 3, 4, 2, 1));
  EXPECT_THAT(log.times, ElementsAre(10, 10, 10, 10, 20));
  EXPECT_EQ(calendar.fired(), 5);
}

TEST(Calendar, StandsBetweenEventsWhereItIsPut) {
  Calendar calendar;
  Log log(calendar);
  calendar.schedule(Time{100}, log, 1);
  calendar.advance_to(Time{99});
  EXPECT_TRUE(log.order.empty());
  EXPECT_EQ(calendar.now(), Time{99});
  EXPECT_EQ(calendar.next_time(), Time{100});
  calendar.advance_to(Time{100});  // to the time of an event, which does not fire
  EXPECT_TRUE(log.order.empty());
  EXPECT_THROW(calendar.advance_to(Time{101}), InvariantError);
  EXPECT_THROW(calendar.advance_to(Time{99}), InvariantError);
  calendar.step();
  EXPECT_THAT(log.times, ElementsAre(100));
  EXPECT_TRUE(calendar.empty());
}

TEST(Calendar, RefusesThePast) {
  Calendar calendar;
  Log log(calendar);
  calendar.advance_to(Time{50});
  EXPECT_THROW(calendar.schedule(Time{49}, log, 0), InvariantError);
  const auto id = calendar.schedule(Time{50}, log, 0);
  EXPECT_THROW(calendar.reschedule(id, Time{49}), InvariantError);
}

TEST(Calendar, CancelsAndReusesTheSlot) {
  Calendar calendar;
  Log log(calendar);
  const auto first = calendar.schedule(Time{10}, log, 1);
  calendar.schedule(Time{20}, log, 2);
  calendar.cancel(first);
  EXPECT_THROW(calendar.cancel(first), InvariantError);
  EXPECT_THROW(calendar.reschedule(first, Time{30}), InvariantError);
  EXPECT_EQ(calendar.schedule(Time{5}, log, 3), first);
  drain(calendar);
  EXPECT_THAT(log.order, ElementsAre(3, 2));
  EXPECT_THROW(calendar.cancel(first), InvariantError);  // it has fired
  EXPECT_THROW(calendar.cancel(Calendar::none), InvariantError);
}

TEST(Calendar, ARescheduledEventOrdersBehindItsNewNeighbours) {
  Calendar calendar;
  Log log(calendar);
  const auto moved = calendar.schedule(Time{10}, log, 1);
  calendar.schedule(Time{20}, log, 2);
  calendar.schedule(Time{30}, log, 3);
  calendar.reschedule(moved, Time{20});
  drain(calendar);
  EXPECT_THAT(log.order, ElementsAre(2, 1, 3));
}

TEST(Calendar, ReschedulesToEarlierAndToTheSameTime) {
  Calendar calendar;
  Log log(calendar);
  const auto a = calendar.schedule(Time{10}, log, 1);
  calendar.schedule(Time{10}, log, 2);
  const auto c = calendar.schedule(Time{30}, log, 3);
  calendar.reschedule(a, Time{10});  // now comes after event 2
  calendar.reschedule(c, Time{9});
  drain(calendar);
  EXPECT_THAT(log.order, ElementsAre(3, 2, 1));
}

TEST(Calendar, ASinkMayScheduleAtTheSameInstant) {
  struct Chain : EventSink {
    explicit Chain(Calendar& c) : calendar(c) {}
    void fire(std::uint64_t left) override {
      ++fired;
      if (left > 0) calendar.schedule(calendar.now(), *this, left - 1);
    }
    Calendar& calendar;
    int fired = 0;
  };
  Calendar calendar;
  Chain chain(calendar);
  calendar.schedule(Time{7}, chain, 4);
  drain(calendar);
  EXPECT_EQ(chain.fired, 5);
  EXPECT_EQ(calendar.now(), Time{7});
}

TEST(Calendar, AgreesWithASortUnderRandomSchedulesMovesAndCancels) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    // Every other round has few different times with many events each; the others have many times with few events.
    const std::uint64_t dates = round % 2 == 0 ? 100 : 20000;
    Calendar calendar;
    Log log(calendar);
    struct Expected {
      std::int64_t at;
      std::uint32_t component;
      std::uint64_t sequence;
      std::uint64_t payload;
      Calendar::EventId id;
    };
    std::vector<Expected> expected;
    std::uint64_t sequence = 0;
    for (std::uint64_t i = 0; i < 4000; ++i) {
      const auto at = static_cast<std::int64_t>(random() % dates);
      const auto component = static_cast<std::uint32_t>(random() % 3);
      expected.push_back({at, component, sequence++, i, calendar.schedule(Time{at}, log, i, component)});
      if (random() % 3 == 0) {
        Expected& e = expected[random() % expected.size()];
        e.at = static_cast<std::int64_t>(random() % dates);
        e.sequence = sequence++;
        calendar.reschedule(e.id, Time{e.at});
      }
      if (random() % 4 == 0) {
        const auto victim = static_cast<std::ptrdiff_t>(random() % expected.size());
        calendar.cancel(expected[static_cast<std::size_t>(victim)].id);
        expected.erase(expected.begin() + victim);
      }
    }
    std::sort(expected.begin(), expected.end(), [](const Expected& a, const Expected& b) {
      return std::tie(a.at, a.component, a.sequence) < std::tie(b.at, b.component, b.sequence);
    });
    drain(calendar);
    std::vector<std::uint64_t> payloads;
    for (const Expected& e : expected) payloads.push_back(e.payload);
    EXPECT_EQ(log.order, payloads);
  }
}

TEST(Calendar, AnEventThatIsMovedAgainAndAgainFiresOnce) {
  Calendar calendar;
  Log log(calendar);
  for (std::uint64_t i = 0; i < 10; ++i) calendar.schedule(Time{static_cast<std::int64_t>(i)}, log, i);
  const auto moved = calendar.schedule(Time{1000}, log, 10);
  for (std::int64_t i = 0; i < 100'000; ++i) calendar.reschedule(moved, Time{1'000'000 - i});
  EXPECT_EQ(calendar.next_time(), Time{0});
  drain(calendar);
  EXPECT_THAT(log.order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(calendar.now(), Time{900'001});
}

TEST(Calendar, ADateThatTheClockCannotTellIsRefused) {
  Calendar calendar;
  Log log(calendar);
  EXPECT_THROW(calendar.schedule(Time::max(), log, 1), EndOfTime);
  const auto id = calendar.schedule(Time{1}, log, 2);
  EXPECT_THROW(calendar.reschedule(id, Time::max() + Time{1}), EndOfTime);
}

}  // namespace
}  // namespace moire::core
