#include "app/advise/advise.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "app/advise/windows.hpp"
#include "app/report/formats.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::advise {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string computation = "    compute: [{stream: {read: 8 MB, write: 4 MB}}]\n";
const std::string exchange = "    comm: [{all_to_all: {bytes_per_peer: 512 KiB, library: " + support::source_dir() +
                             "/tests/data/tiny_library.yaml}}]\n";

study::Scenario scenario_of(const std::string& queues, const std::string& rest, config::Diagnostics& diagnostics) {
  const std::string text = "description: x\nsystem: " + support::source_dir() +
                           "/tests/data/tiny_node.yaml\nprogram:\n  queues:\n" + queues + rest;
  auto tree = config::load_text("s.yaml", text, {}, diagnostics);
  return study::read_scenario(std::move(*tree), {}, diagnostics);
}

Space space(const std::string& rest, const std::string& queues = computation + exchange) {
  config::Diagnostics diagnostics;
  study::Preparer preparer;
  auto made = space_of(scenario_of(queues, rest, diagnostics), preparer, diagnostics);
  EXPECT_TRUE(made) << diagnostics.str();
  return made.value_or(Space{});
}

std::vector<std::string> names(const Space& space) {
  std::vector<std::string> list;
  for (const study::Choice& schedule : space.schedules) list.push_back(schedule.name);
  return list;
}

std::string errors(const std::string& rest, const std::string& queues = computation + exchange) {
  config::Diagnostics diagnostics;
  study::Preparer preparer;
  EXPECT_FALSE(space_of(scenario_of(queues, rest, diagnostics), preparer, diagnostics));
  return diagnostics.str();
}

TEST(Space, TheFileAsWrittenIsTheFirstSchedule) {
  const Space made = space("");
  EXPECT_EQ(made.comm, "comm");
  EXPECT_EQ(made.compute, "compute");
  EXPECT_EQ(made.schedules.front().name, "as written");
  EXPECT_THAT(made.schedules.front().changes, IsEmpty());
}

const std::string fused = "    main: [{all_gather_gemm: {gemm: {m: 256, n: 256, k: 256}, schedule: fused}}]\n";

TEST(Space, OneQueueHasTheKeysOfItsOperators) {
  const Space made = space("advise: {chunks: [1, 2], copy_streams: [], communication_cus: []}\n", fused);
  EXPECT_FALSE(made.two_queues());
  EXPECT_EQ(made.comm, "main");
  EXPECT_THAT(names(made), Contains("schedule split"));
  EXPECT_THAT(names(made), Contains("order own_last, chunks 2"));
  EXPECT_THAT(names(made), Not(Contains("schedule split, chunks 2")));
  EXPECT_THAT(errors("advise: {cu_limit: [4]}\n", fused), HasSubstr("'advise.cu_limit' needs two queues"));
}

TEST(Advise, OneQueueIsRankedByTime) {
  config::Diagnostics diagnostics;
  const auto scenario =
      scenario_of(fused, "advise: {order: [], copy_streams: [], communication_cus: []}\n", diagnostics);
  const auto advice = advise(scenario, 1, diagnostics);
  ASSERT_TRUE(advice) << diagnostics.str();
  for (const Tried& one : advice->tried)
    EXPECT_GE(one.result.time.us(), advice->tried[advice->best()].result.time.us() * 0.995);
  EXPECT_THAT(report::write_text(document_of(scenario, *advice)), Not(HasSubstr("ideal")));
}

TEST(Space, OnlyWhatIsListedIsTried) {
  EXPECT_THAT(names(space("advise: {launch: [], priority: [high], cu_partition: [], cu_limit: [], engine: [cu], "
                          "channels: []}\n")),
              ElementsAre("as written", "priority high"));
  EXPECT_THAT(names(space("advise: {launch: [], priority: [], cu_partition: [2, 4], cu_limit: [], engine: [dma], "
                          "channels: [], streams: []}\n")),
              ElementsAre("as written", "2 CUs reserved", "4 CUs reserved", "engine dma"));
}

TEST(Space, OneChangeAtATime) {
  for (const study::Choice& schedule : space("advise: {combine: false}\n").schedules)
    EXPECT_LE(schedule.changes.size(), 1);
}

// A queue with reserved CUs need not be launched first, a queue that copies needs no CUs, and only kernels have
// channels.
TEST(Space, WhatChangesNothingIsNotTried) {
  const std::vector<std::string> all = names(space(""));
  EXPECT_GT(all.size(), 10);
  for (const std::string& name : all) {
    const auto says = [&](const char* what) { return name.find(what) != std::string::npos; };
    EXPECT_FALSE(says("reserved") && (says("first") || says("priority") || says("dma"))) << name;
    EXPECT_FALSE(says("dma") && (says("channels") || says("priority"))) << name;
    EXPECT_FALSE(says("streams") && !says("dma")) << name;
    EXPECT_FALSE(says("comm first") && says("priority")) << name;
  }
  EXPECT_THAT(all, Contains("comm first"));
  EXPECT_THAT(all, Contains("engine dma"));
}

TEST(Space, WhatCannotBeSaysWhy) {
  const Space made = space("advise: {cu_partition: [9]}\n");
  EXPECT_THAT(made.left_out,
              Contains(HasSubstr("9 CUs reserved: the reservations so far need 9 CUs, but tiny GPU has 8")));
}

TEST(Space, AValueAsWrittenIsNoChange) {
  const std::string dma = "    comm: [{all_to_all: {bytes_per_peer: 512 KiB, engine: dma}}]\n";
  const std::string first = "  launch: [comm]\n";
  const std::vector<std::string> all = names(space("advise: {streams: [], cu_limit: []}\n", computation + dma + first));
  EXPECT_THAT(all, ElementsAre("as written", "compute first"))
      << "engine cu is impossible without a library, and priority has no effect without kernels";
}

TEST(Space, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(errors("advise: {chanels: [4]}\n"),
              HasSubstr("s.yaml:7:10: unknown key 'chanels' in advise; did you mean"));
  EXPECT_THAT(errors("advise: {engine: dma}\n"), HasSubstr("'advise.engine' is 'dma', not a list"));
  EXPECT_THAT(errors("advise: {launch: [com]}\n"), HasSubstr("'advise.launch' names no queue: 'com'"));
  EXPECT_THAT(errors("advise: 4\n"), HasSubstr("'advise' is '4', not a map"));
  EXPECT_THAT(errors("sweep: {system.node.gpus: [2, 4]}\n"), HasSubstr("needs a single point"));
  EXPECT_THAT(errors("", computation), HasSubstr("the only queue has no operator with a key that can be varied"));
}

class AdviceTest : public testing::Test {
 protected:
  Advice advice_of(const std::string& rest, std::size_t jobs = 2) {
    config::Diagnostics diagnostics;
    scenario_ = scenario_of(computation + exchange, rest, diagnostics);
    auto made = advise(scenario_, jobs, diagnostics);
    EXPECT_TRUE(made) << diagnostics.str();
    return std::move(*made);
  }
  study::Scenario scenario_;
};

TEST_F(AdviceTest, TheBestIsTheFastestOrAsGoodWithFewerChanges) {
  const Advice advice = advice_of("");
  const Time best = advice.tried[advice.best()].result.time;
  for (const Tried& one : advice.tried) {
    EXPECT_GE(one.result.time.us() * (1 + good_enough), best.us()) << one.schedule.name;
    if (one.result.time.us() <= best.us()) {
      EXPECT_GE(one.schedule.changes.size(), advice.tried[advice.best()].schedule.changes.size());
    }
  }
  for (std::size_t i = 2; i < advice.ranking.size(); ++i) {
    EXPECT_GE(advice.tried[advice.ranking[i]].result.time, advice.tried[advice.ranking[i - 1]].result.time);
  }
}

// The time of a tried schedule equals the time of a run of the scenario with the changes of this schedule.
TEST_F(AdviceTest, ASchedulesTimeIsThatOfARun) {
  const Advice advice = advice_of("advise: {priority: [], launch: [], cu_limit: []}\n");
  for (const Tried& one : advice.tried) {
    config::Diagnostics diagnostics;
    study::Run run;
    run.choices = {&one.schedule};
    study::Preparer preparer;
    EXPECT_EQ(simulate(*preparer.prepare(with_schedules(scenario_, {}), run, diagnostics), nullptr).time,
              one.result.time)
        << one.schedule.name;
  }
}

TEST_F(AdviceTest, AccountsAddUpAndSaysTheSameWithAnyNumberOfJobs) {
  const Advice advice = advice_of("");
  ASSERT_EQ(advice.accounts.size(), advice.best() == 0 ? 1 : 2);
  for (const Account& account : advice.accounts) {
    for (std::size_t q = 0; q < 2; ++q) EXPECT_EQ(account.blame[q].sum(), account.lost[q]);
    EXPECT_EQ(account.stretches.back().end, advice.tried[account.tried].result.time);
    for (const Stretch& stretch : account.stretches) {
      EXPECT_THAT(stretch.busy, Not(IsEmpty()));
      for (const auto& [kind, share] : stretch.busy) EXPECT_LE(share, 1 + 1e-9) << kind;
    }
  }
  EXPECT_EQ(report::write_json(document_of(scenario_, advice)),
            report::write_json(document_of(scenario_, advice_of("", 1))));
}

// The rule of the ConCCL paper (arXiv 2412.14335): reserve the number of CUs for which the longer of the times that the
// two queues take alone is shortest.
TEST_F(AdviceTest, RulesOfThumbChooseFromWhatQueuesDoAlone) {
  const Advice advice = advice_of("advise: {cu_partition: [2, 4]}\n");
  ASSERT_EQ(advice.splits.size(), 2);
  EXPECT_LE(advice.splits[0].compute, advice.splits[1].compute) << "4 reserved CUs leave fewer for the computation";
  ASSERT_TRUE(advice.by_split);
  const bool two = advice.splits[0].larger() <= advice.splits[1].larger();
  EXPECT_EQ(advice.tried[*advice.by_split].schedule.name, two ? "2 CUs reserved" : "4 CUs reserved");
  ASSERT_TRUE(advice.by_workgroups);
  EXPECT_EQ(advice.tried[*advice.by_workgroups].schedule.name, "comm first");
}

TEST(Windows, SharesAreMeansOverTimeAndMembers) {
  Windows windows({Time::from_us(10), Time::from_us(20)}, 2, 4, 1);
  windows.load("rank 0 HBM", 0, Time{}, 50, 100);
  windows.load("rank 1 HBM", 1, Time{}, 100, 100);
  windows.load("rank 0 HBM", 0, Time::from_us(15), 0, 100);
  windows.copy({0, 0, 1, {}, "copy", Time::from_us(5), Time::from_us(10)});
  const auto work = [&](std::uint32_t cu, double begin, double end) {
    program::WorkgroupSpan span{};
    span.cu = cu;
    span.work = true;
    span.begin = Time::from_us(begin);
    span.end = Time::from_us(end);
    windows.workgroup(span);
  };
  work(0, 0, 4);
  work(0, 2, 6);  // both spans are on one CU, which is busy for 6 us
  work(1, 8, 10);
  work(1, 0, 12);  // this span covers the span before, so the CU is busy for 12 us
  const std::vector<Share> shares = windows.shares();
  const auto share = [&](std::size_t window, const char* kind) {
    for (const Share& one : shares) {
      if (one.window == window && one.kind == kind) return one.share;
    }
    return -1.0;
  };
  EXPECT_DOUBLE_EQ(share(0, "HBM"), 0.75);
  EXPECT_DOUBLE_EQ(share(1, "HBM"), (0.25 + 1) / 2);
  EXPECT_DOUBLE_EQ(share(0, "DMA engines"), 0.25);
  EXPECT_DOUBLE_EQ(share(1, "DMA engines"), 0);
  EXPECT_DOUBLE_EQ(share(0, "CUs"), (6 + 10) / 10.0 / 8);
  EXPECT_DOUBLE_EQ(share(1, "CUs"), 2 / 10.0 / 8);
}

}  // namespace
}  // namespace moire::advise
