#include "sim/core/run_loop.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

namespace moire::core {
namespace {

using ::testing::ElementsAre;

struct Act : EventSink {
  std::function<void(std::uint64_t)> act;
  void fire(std::uint64_t payload) override { act(payload); }
};

struct Settle : Settler {
  std::function<void()> act;
  void settle() override { act(); }
};

TEST(RunLoop, SettlesAfterAllEventsOfOneInstant) {
  RunLoop loop;
  std::vector<std::string> log;
  Act event;
  event.act = [&](std::uint64_t payload) { log.push_back(fmt::format("event {}", payload)); };
  Settle first;
  first.act = [&] { log.push_back("first"); };
  Settle second;
  second.act = [&] { log.push_back("second"); };
  loop.add(first);
  loop.add(second);
  loop.calendar().schedule(Time{10}, event, 1);
  loop.calendar().schedule(Time{10}, event, 2);
  loop.calendar().schedule(Time{11}, event, 3);
  loop.run_instant();
  EXPECT_THAT(log, ElementsAre("event 1", "event 2", "first", "second"));
  EXPECT_EQ(loop.now(), Time{10});
  EXPECT_EQ(loop.next_time(), Time{11});
  EXPECT_FALSE(loop.idle());
  loop.run_instant();
  EXPECT_TRUE(loop.idle());
  EXPECT_EQ(loop.instants(), 2);
}

TEST(RunLoop, AnInstantGoesOnWhileSettlersScheduleIntoIt) {
  RunLoop loop;
  int events = 0;
  int settlements = 0;
  Act event;
  event.act = [&](std::uint64_t) { ++events; };
  Settle settler;
  settler.act = [&] {
    ++settlements;
    if (events < 3) loop.calendar().schedule(loop.now(), event, 0);
  };
  loop.add(settler);
  loop.calendar().schedule(Time{5}, event, 0);
  loop.run_instant();
  EXPECT_EQ(events, 3);
  EXPECT_EQ(settlements, 3);
  EXPECT_EQ(loop.instants(), 1);
  EXPECT_TRUE(loop.idle());
}

TEST(RunLoop, SettlesOnceBeforeTheFirstEvent) {
  RunLoop loop;
  std::vector<std::int64_t> at;
  Act event;
  event.act = [](std::uint64_t) {};
  Settle settler;
  settler.act = [&] {
    if (at.empty()) loop.calendar().schedule(Time{3}, event, 0);
    at.push_back(loop.now().ps);
  };
  loop.add(settler);
  loop.run();
  EXPECT_THAT(at, ElementsAre(0, 3));
}

TEST(RunLoop, AnEmptyLoopStaysAtZero) {
  RunLoop loop;
  loop.run();
  EXPECT_EQ(loop.now(), Time{0});
  EXPECT_EQ(loop.instants(), 0);
}

}  // namespace
}  // namespace moire::core
