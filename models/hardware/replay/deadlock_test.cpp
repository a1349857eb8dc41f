#include <gmock/gmock.h>

#include "tests/support/example_program.hpp"

namespace moire::replay {
namespace {

using machine::example_system;
using program::Program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string cycle_of(const std::string& report) {
  const std::size_t begin = report.find("cycle:\n");
  return begin == std::string::npos ? "" : report.substr(begin, report.find("all waits:") - begin);
}

TEST(Deadlock, TwoRanksThatWaitForEachOther) {
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"ready", 2, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank ^ 1U, std::string("talk")};
                                                      }});
  program.queues = {queue(
      "main", {kernel("talk", 3, [=](Rank rank, std::int64_t wg) {
        if (wg != 1) return Steps{delay(Time::from_us(5))};
        const Rank mate = rank ^ 1U;
        return Steps{wait(flags.at(rank, 1), 2), signal(mate, flags.at(mate, 1)), signal(mate, flags.at(mate, 1))};
      })})};
  const Result result = run(example_system(2), program);
  EXPECT_THAT(result.deadlock, HasSubstr("deadlock at 5.000 us: 2 queues did not end"));
  EXPECT_THAT(
      cycle_of(result.deadlock),
      AllOf(
          HasSubstr("rank 0 queue 'main' operation 'talk': workgroup 1 on CU 4 waits for flag ready[1] of rank 0 >= 2, "
                    "it is 0; so it waits for rank 1 queue 'main' operation 'talk'"),
          HasSubstr("rank 1 queue 'main' operation 'talk': workgroup 1 on CU 4 waits for flag ready[1] of rank 1 >= 2, "
                    "it is 0; so it waits for rank 0 queue 'main' operation 'talk'")));
  EXPECT_EQ(result.end, Time{});
}

// The kernel that would raise the flag cannot start, because all CUs are occupied by workgroups that wait for the flag.
Program starved(std::int64_t workgroups) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("raiser")};
                                                      }});
  program.queues = {
      queue("first", {kernel("holder", workgroups, [=](Rank, std::int64_t) { return Steps{wait(flags.at(0, 0))}; })}),
      queue("second", {kernel("raiser", 2, [=](Rank, std::int64_t) { return Steps{signal(0, flags.at(0, 0))}; })})};
  return program;
}

TEST(Deadlock, AKernelThatHoldsAllCusWaitsForAFlagOfALaterOne) {
  EXPECT_EQ(run(example_system(1), starved(7)).deadlock, "") << "one CU is free for the later kernel";
  const std::string report = run(example_system(1), starved(8)).deadlock;
  EXPECT_THAT(report, HasSubstr("2 queues did not end"));
  EXPECT_THAT(
      cycle_of(report),
      AllOf(
          HasSubstr(
              "rank 0 queue 'first' operation 'holder': workgroup 0 on CU 0 waits for flag go[0] of rank 0 >= 1, it "
              "is 0; so it waits for rank 0 queue 'second' operation 'raiser'"),
          HasSubstr("rank 0 queue 'second' operation 'raiser': 2 workgroups wait for a CU slot; so it waits for rank 0 "
                    "queue 'first' operation 'holder'")));
}

// Some workgroups of the kernel `holder` have no CU. No workgroup waits for a flag of `holder`, so the kernel does not
// wait for itself.
TEST(Deadlock, WaitingForItsOwnCusIsNotTheCycle) {
  const std::string report = run(example_system(1), starved(20)).deadlock;
  EXPECT_THAT(cycle_of(report),
              AllOf(HasSubstr("go[0] of rank 0"), HasSubstr("so it waits for rank 0 queue 'first' operation 'holder'"),
                    Not(HasSubstr("12 workgroups"))));
}

// A grid barrier over more workgroups than fit.
TEST(Deadlock, AKernelThatWaitsForItsOwnUnplacedWorkgroups) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"barrier", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("grid")};
                                                      }});
  const auto make = [&](std::int64_t workgroups) {
    program.queues = {queue("main", {kernel("grid", workgroups, [=](Rank, std::int64_t) {
                              return Steps{signal(0, flags.at(0, 0)), wait(flags.at(0, 0), workgroups)};
                            })})};
  };
  make(8);
  EXPECT_EQ(run(example_system(1), program).deadlock, "");
  make(9);
  const std::string report = run(example_system(1), program).deadlock;
  EXPECT_THAT(cycle_of(report),
              HasSubstr("operation 'grid': 1 workgroups wait for a CU slot; so it waits for rank 0 queue 'main' "
                        "operation 'grid'"));
  EXPECT_THAT(report, HasSubstr("workgroup 0 on CU 0 waits for flag barrier[0] of rank 0 >= 9, it is 8"));
}

TEST(Deadlock, AFlagRaisedByAnOperationBehindTheWait) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("raiser")};
                                                      }});
  program.queues = {
      queue("main", {program::Wait{"hold", [=](Rank rank) { return flags.at(rank, 0); }, 3},
                     kernel("raiser", 1, [=](Rank, std::int64_t) { return Steps{signal(0, flags.at(0, 0))}; })})};
  const std::string report = run(example_system(1), program).deadlock;
  EXPECT_THAT(cycle_of(report),
              AllOf(HasSubstr("operation 'hold': waits for flag go[0] of rank 0 >= 3, it is 0; so it waits for rank 0 "
                              "queue 'main' operation 'raiser'"),
                    HasSubstr("operation 'raiser': is behind another operation of its queue")));
}

TEST(Deadlock, AFlagThatNobodyWillRaiseHasNoCycle) {
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank, std::uint32_t) {
                                                        return std::pair{Rank{1}, std::string("talk")};
                                                      }});
  program.queues = {queue("main", {kernel("talk", 1, [=](Rank rank, std::int64_t) {
                            return rank == 0 ? Steps{wait(flags.at(0, 0), 2)} : Steps{signal(0, flags.at(0, 0))};
                          })})};
  const std::string report = run(example_system(2), program).deadlock;
  EXPECT_THAT(report, AllOf(HasSubstr("1 queues did not end"), HasSubstr("no cycle"),
                            HasSubstr("go[0] of rank 0 >= 2, it is 1"),
                            HasSubstr("so it waits for rank 1 queue 'main' operation 'talk'")));
}

// As in the test AFlagRaisedByAnOperationBehindTheWait, a wait blocks the kernel that would raise its flag. Here, wait
// and kernel are in two queues that run one after the other.
TEST(Deadlock, AFlagRaisedInAQueueThatRunsLater) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("raiser")};
                                                      }});
  program.queues = {
      queue("first", {program::Wait{"hold", [=](Rank rank) { return flags.at(rank, 0); }, 1}}),
      queue("second", {kernel("raiser", 1, [=](Rank, std::int64_t) { return Steps{signal(0, flags.at(0, 0))}; })})};
  EXPECT_EQ(run(example_system(1), program).deadlock, "");
  program.order = program::Order::serial;
  EXPECT_THAT(cycle_of(run(example_system(1), program).deadlock),
              HasSubstr("rank 0 queue 'second' operation 'raiser': its queue is later in the serial order; so it waits "
                        "for rank 0 queue 'first' operation 'hold'"));
}

// If each queue has its own CU slots, each queue has its own dispatcher. The report covers all of them.
TEST(Deadlock, EveryDispatcherIsAsked) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"barrier", 1, [](Rank rank, std::uint32_t) {
                                                        return std::pair{rank, std::string("grid")};
                                                      }});
  program.queues = {queue("first", {kernel("short", 1, [](Rank, std::int64_t) { return Steps{}; })}),
                    queue("second", {kernel("grid", 9, [=](Rank, std::int64_t) {
                            return Steps{signal(0, flags.at(0, 0)), wait(flags.at(0, 0), 9)};
                          })})};
  core::RunLoop loop;
  config::Problem error;
  const auto machine = machine::Machine::build(example_system(1), loop, error, {2, {"slots"}});
  ASSERT_TRUE(machine) << error.str();
  EXPECT_THAT(Replay(*machine, program).run().deadlock,
              HasSubstr("rank 0 queue 'second' operation 'grid': 1 workgroups wait for a CU slot"));
}

}  // namespace
}  // namespace moire::replay
