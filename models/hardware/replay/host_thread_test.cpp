// Tests of copies to other nodes, and of streams whose operations a host thread enqueues one by one.
#include <gmock/gmock.h>

#include <array>

#include "models/hardware/replay/fold.hpp"
#include "tests/support/example_program.hpp"

namespace moire::replay {
namespace {

using machine::example_system;
using program::Program;
using ::testing::ElementsAre;

Time micro(double t) { return Time::from_us(t); }
Time nano(double t) { return Time::from_ns(t); }

Time network_latency(const machine::SystemSpec& system) {
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  std::vector<core::LinkId> path;
  const core::Topology& topology = machine->service<part::Networks>().topology();
  topology.route(0, 1, 0, path);
  Time latency;
  for (const core::LinkId link : path) latency += topology.links()[link].latency;
  return latency;
}

// Makes all queues but the first streams of the first one, which a host thread serves.
void serve_by_host(Program& program) {
  for (std::size_t stream = 1; stream < program.queues.size(); ++stream) {
    program.queues[stream].stream_of = 0;
    program.queues[stream].by_host = true;
  }
}

program::FlagBlock flag_of(Program& program) {
  return program.add_flags({"there", 1, [](Rank rank, std::uint32_t) { return std::pair{rank, std::string("copy")}; }});
}

// A copy to another node takes the time of a put that a host thread posts, in ns: wqe_build 300 + proxy_latency 800 +
// proxy_time 300 + doorbell 200 + two work requests 20 + PCIe 500 + path + bytes / 25 GB/s + flag_latency 400.
TEST(HostThread, ACopyToAnotherNodeIsAMessageOfItsNic) {
  const machine::SystemSpec system = example_system(1, 2);
  Program program(2);
  const program::FlagBlock there = flag_of(program);
  const auto only_first = std::make_shared<const std::vector<bool>>(std::vector<bool>{true, false});
  program::Copy over = copy(
      "over", 50e3, [](Rank) { return Rank{1}; }, there);
  over.ranks = only_first;
  program.queues = {
      queue("main", {over}),
      queue("other", {program::Wait{"wait", [=](Rank rank) { return there.at(rank, 0); }, 1,
                                    std::make_shared<const std::vector<bool>>(std::vector<bool>{false, true})}})};
  const Result result = run(system, program);
  const Time taken = nano(300 + 800 + 300 + 200 + 20 + 500 + 2000 + 400) + network_latency(system);
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.rank_end[0], taken) << "the next operation begins when the bytes are there";
  EXPECT_EQ(result.rank_end[1], taken);
  EXPECT_EQ(result.traffic.puts, 1);
  EXPECT_EQ(result.traffic.put_bytes.value, 50e3);
  EXPECT_EQ(result.traffic.scale_up_bytes.value, 0);
}

// Every rank copies to the next rank. Simulating one node gives the same times as simulating all nodes.
TEST(HostThread, ARingOfCopiesBetweenNodesFolds) {
  const machine::SystemSpec system = example_system(2, 4);
  Program program(8);
  const program::FlagBlock there = flag_of(program);
  program.queues = {queue("main", {copy(
                                       "over", 50e3, [](Rank rank) { return (rank + 1) % 8; }, there),
                                   program::Wait{"wait", [=](Rank rank) { return there.at(rank, 0); }}})};
  const auto build = [&](Rank images) {
    config::Problem error;
    return machine::Machine::build(system, error, {}, images);
  };
  const Fold fold = fold_of(*build(1), program);
  EXPECT_EQ(fold.images, 4U);
  const Folded folded = run_folded(fold, build, program);
  const Folded whole = run_folded({}, build, program);
  EXPECT_EQ(folded.fold.images, 4U);
  EXPECT_EQ(folded.result.rank_end, whole.result.rank_end);
  EXPECT_EQ(folded.result.traffic.put_bytes, whole.result.traffic.put_bytes);
}

// The nodes form a grid of 3 x 4. Every rank copies to the next one of its row, then to the next one of its column. One
// rank stands for all.
TEST(HostThread, ATorusOfCopiesFoldsAlongBothDirections) {
  const machine::SystemSpec system = example_system(1, 12);
  Program program(12);
  const program::FlagBlock row = flag_of(program), column = flag_of(program);
  const auto next_in_row = [](Rank rank) { return rank / 3 * 3 + (rank + 1) % 3; };
  program.queues = {queue(
      "main", {copy("row", 50e3, next_in_row, row), program::Wait{"wait", [=](Rank rank) { return row.at(rank, 0); }},
               copy(
                   "column", 70e3, [](Rank rank) { return (rank + 3) % 12; }, column),
               program::Wait{"wait", [=](Rank rank) { return column.at(rank, 0); }}})};
  const auto build = [&](Rank images) {
    config::Problem error;
    return machine::Machine::build(system, error, {}, images);
  };
  const Fold fold = fold_of(*build(1), program);
  EXPECT_EQ(fold.images, 12U);
  EXPECT_THAT(fold.circle, testing::ElementsAre(3, 12));
  const Folded folded = run_folded(fold, build, program);
  const Folded whole = run_folded({.why_not = "to compare", .circle = fold.circle}, build, program);
  EXPECT_EQ(folded.fold.images, 12U);
  EXPECT_EQ(whole.fold.images, 1U);
  EXPECT_EQ(folded.result.rank_end, whole.result.rank_end);
  EXPECT_EQ(folded.result.traffic.put_bytes, whole.result.traffic.put_bytes);
}

// Enqueueing takes 2 us, and the start of a kernel 3 us. If a kernel is enqueued ahead of time, both overlap with the
// kernel before it. If a host thread enqueues a kernel when the kernel before it has ended, both add to the time.
TEST(HostThread, WhatItComesToIsEnqueuedThen) {
  machine::SystemSpec system = example_system(1);
  system.node.gpu.host = {.enqueue = micro(2), .kernel_start = micro(3), .queue_gap = micro(1)};
  const auto busy = [](const char* name) {
    return kernel(name, 1, [](Rank, std::int64_t) { return Steps{delay(micro(10))}; });
  };
  Program program(1);
  program.queues = {queue("main", {}), queue("main.thread", {busy("a"), busy("b")})};
  program.queues[1].stream_of = 0;
  EXPECT_EQ(run(system, program).end, micro(2 + 3 + 10 + 1 + 10));
  program.queues[1].by_host = true;
  EXPECT_EQ(run(system, program).end, micro(2 + 3 + 10 + 2 + 3 + 10));
  // One call enqueues both kernels, so the start of the second overlaps with the first.
  std::get<program::Kernel>(program.queues[1].operations[1]).together = true;
  EXPECT_EQ(run(system, program).end, micro(2 + 3 + 10 + 1 + 10));
  // One thread serves both streams, so it enqueues the second kernel after the first.
  program.queues = {queue("main", {}), queue("main.one", {busy("a")}), queue("main.two", {busy("b")})};
  serve_by_host(program);
  EXPECT_EQ(run(system, program).end, micro(2 + 2 + 3 + 10));
  // Waits and signals take no time of the thread.
  Program waits(1);
  const program::FlagBlock there = flag_of(waits);
  const auto own = [=](Rank rank) { return there.at(rank, 0); };
  waits.queues = {queue("main", {}),
                  queue("main.thread", {program::Signal{"s", own}, program::Wait{"w", own}, busy("a")})};
  serve_by_host(waits);
  EXPECT_EQ(run(system, waits).end, micro(2 + 3 + 10));
}

// The first of two copies through the host takes 2 us to enqueue, 10 us for its command, and 40 us for its bytes. Its
// end is found by the first poll at or after 52 us: the queue of the second copy polls every 9 us from 14 us on, when
// its engine has read the command (3 us of calls, of which the last 1 us is the copy's own, and 10 us). The second copy
// begins 4 us later and takes 20 us.
TEST(HostThread, ACopyOutOfTheHostPollsForTheCopyIntoIt) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(2);
  system.node.gpu.host.copy_enqueue = micro(1);
  system.node.host_memory = machine::example_host_memory();
  system.node.host_memory->calls = micro(3);
  system.node.host_memory->poll_interval = micro(9);
  system.node.host_memory->hand_over = micro(4);
  Program program(2);
  program.queues = {queue("main", {}), queue("main.thread", {})};
  serve_by_host(program);
  const auto only_first = std::make_shared<const std::vector<bool>>(std::vector<bool>{true, false});
  const auto add = [&](Rank to, program::Transfer::Way way, bool together) {
    const auto transfer = [=](Rank) { return program::Transfer{.peer = to, .bytes = {1e6}, .way = way}; };
    program.queues[1].operations.emplace_back(program::Copy{"copy", transfer, {}, only_first, together});
  };
  add(0, program::Transfer::Way::to_host, false);
  add(1, program::Transfer::Way::from_host, true);
  const Result result = run(system, program);
  EXPECT_EQ(result.operations[0].end, micro(2 + 10 + 40));
  EXPECT_EQ(result.end, micro(14 + 5 * 9 + 4 + 20));
  EXPECT_EQ(result.traffic.host_bytes.value, 2e6);
}

// A copy by an engine takes 2 us to enqueue, 10 us for its command, and 10 us for its bytes.
TEST(HostThread, ACopyInsideTheNodeIsAnEngines) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(2);
  Program program(2);
  program.queues = {queue("main", {}), queue("main.thread", {copy("own", 1e6, [](Rank rank) { return rank ^ 1U; })})};
  serve_by_host(program);
  EXPECT_EQ(run(system, program).end, micro(2 + 10 + 10));
  // The command time was measured between two events. The thread records no events, so their time is deducted.
  system.node.gpu.host.event_pair = micro(4);
  EXPECT_EQ(run(system, program).end, micro(2 + 10 - 4 + 10));
}

// The first call takes 3 us, because the thread polled for nothing before it. Then each copy takes 1 us to enqueue, 10
// us for its command, 10 us for its bytes, and 2 us until the thread has seen its end.
TEST(HostThread, AThreadThatPollsEnqueuesFaster) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(3);
  system.node.gpu.host.copy_enqueue = micro(1);
  system.node.gpu.host.copy_seen = micro(2);
  const auto peer = [](Rank rank) { return rank ^ 1U; };
  Program program(2);
  const program::FlagBlock there = flag_of(program);
  program.queues = {queue("main", {}), queue("main.thread", {copy("one", 1e6, peer, there), copy("two", 1e6, peer)}),
                    queue("main.other", {program::Wait{"wait", [=](Rank rank) { return there.at(rank, 0); }},
                                         program::Delay{"work", micro(1)}})};
  serve_by_host(program);
  const Result result = run(system, program);
  EXPECT_EQ(result.queue_end[0], micro(3 + 10 + 10 + 2 + 1 + 10 + 10 + 2));
  const auto& waited = result.operations[2];
  EXPECT_EQ(waited.end, micro(3 + 10 + 10 + 2)) << "the thread raises the flag when it has seen the end";
}

// A thread sees the end of a copy after the call that it is making: here a call of 30 us, which begins after the thread
// has enqueued the copy.
TEST(HostThread, AThreadThatCallsSeesNothing) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(2);
  Program program(2);
  program.queues = {queue("main", {}), queue("main.thread", {copy("own", 1e6, [](Rank rank) { return rank ^ 1U; })}),
                    queue("main.other", {program::Delay{"call", micro(30), {}, program::Delay::Thread::calls}})};
  serve_by_host(program);
  EXPECT_EQ(run(system, program).end, micro(2 + 30));
}

// One thread serves two streams, with a copy that ends at 22 us and operations that end at 20 and 22 us. A query that
// finds an end takes 3 us. The thread finds the first end at once, because it polled, and the others at 23 and 26 us.
TEST(HostThread, AThreadFindsOneEndAfterTheOther) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(2);
  system.node.gpu.host.query = micro(3);
  const auto peer = [](Rank rank) { return rank ^ 1U; };
  Program program(2);
  program.queues = {queue("main", {}), queue("main.one", {copy("one", 1e6, peer)}),
                    queue("main.two", {program::Delay{"seen", micro(20), {}, program::Delay::Thread::polls},
                                       program::Delay{"seen", micro(2), {}, program::Delay::Thread::polls}})};
  serve_by_host(program);
  EXPECT_EQ(run(system, program).queue_end[0], micro(26));
}

// A thread that polls two streams in turn sees the first end half of a query of the other stream late.
TEST(HostThread, AThreadThatPollsAnotherStreamSeesAnEndLate) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(2);
  system.node.gpu.host.busy_query = micro(3);
  Program program(2);
  program.queues = {queue("main", {}), queue("main.one", {copy("one", 1e6, [](Rank rank) { return rank ^ 1U; })}),
                    queue("main.two", {program::Delay{"seen", micro(40), {}, program::Delay::Thread::polls}})};
  serve_by_host(program);
  const Result result = run(system, program);
  EXPECT_EQ(result.operations[0].end, micro(2 + 10 + 10 + 1.5));
  EXPECT_EQ(result.operations[1].end, micro(40)) << "no other stream is busy then";
}

// Calls do not overtake a query that could begin before them. The copy ends at 22 us, while the other stream makes one
// call of 10 us after the other. The thread finds the end after at most one more call, not after all of them.
TEST(HostThread, CallsDoNotOvertakeAQuery) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.enqueue = micro(2);
  system.node.gpu.host.query = micro(3);
  const program::Delay call{"call", micro(10), {}, program::Delay::Thread::calls};
  Program program(2);
  program.queues = {queue("main", {}), queue("main.thread", {copy("own", 1e6, [](Rank rank) { return rank ^ 1U; })}),
                    queue("main.other", {call, call, call, call, call})};
  serve_by_host(program);
  const Result result = run(system, program);
  EXPECT_LE(result.operations[0].end, micro(22 + 10 + 3));
  EXPECT_EQ(result.queue_end[0], micro(2 + 5 * 10 + 3));
}

// A command of the stream writes the flags 3 us after the ends of the copies. The next copy reads its command
// meanwhile. The second of two GPUs waits for two thirds of the interval in which its engine looks for the release of
// the first copy, of which the time of the command contains one half. A kernel behind the command sees the end of the
// copy 5 us after the flag.
TEST(Flags, ACommandOfTheStreamWritesTheFlagOfACopy) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.event_pair = micro(4);
  const auto peer = [](Rank rank) { return rank ^ 1U; };
  Program program(2);
  const program::FlagBlock there = flag_of(program);
  program.queues = {queue("main", {copy("one", 1e6, peer, there), copy("two", 1e6, peer, there)})};
  const Time without = run(system, program).end;
  EXPECT_EQ(without, micro(10 + 10 + 2 + 10)) << "an engine that raises flags itself continues at once";
  system.node.gpu.host.poll_interval = micro(8);
  system.node.gpu.dma.flag_command = micro(3);
  const Time late{micro(8 * 2).ps / 3};
  EXPECT_EQ(run(system, program).end, micro(10 + 10 + (10 - 4) + 10 + 3) + late - micro(4));
  program.queues[0].operations.emplace_back(
      kernel("after", 1, [](Rank, std::int64_t) { return Steps{delay(micro(1))}; }));
  system.node.gpu.dma.completion = micro(5);
  EXPECT_EQ(run(system, program).end, micro(36 + 3 + 5 + 1 - 4) + late);
}

// GPUs of a node that begin with a copy see the release in turn, in the order of their bits in reverse. A GPU that
// begins alone sees it after half an interval, which the time of the command contains.
TEST(Flags, GpusThatBeginWithCopiesSeeTheirReleaseInTurn) {
  machine::SystemSpec system = example_system(4);
  Program program(4);
  program.queues = {queue("main", {copy("one", 1e6, [](Rank rank) { return rank ^ 1U; })})};
  EXPECT_EQ(run(system, program).end, micro(10 + 10));
  system.node.gpu.host.poll_interval = micro(10);
  const Result all = run(system, program);
  EXPECT_THAT(all.rank_end, ElementsAre(micro(20 - 3), micro(20 + 1), micro(20 - 1), micro(20 + 3)));
  std::get<program::Copy>(program.queues[0].operations[0]).ranks =
      std::make_shared<const std::vector<bool>>(std::vector<bool>{false, false, true, false});
  EXPECT_EQ(run(system, program).end, micro(10 + 10));
}

// All GPUs copy to the next one, then to the one after it and to the third, 10 us each and 2 us apart, through a
// switch. They begin 3 us before, 1 us after, 1 us before and 3 us after the middle of the interval, in the order of
// the ranks. Copies that meet at a receiver share its port, so they end 1, 5, 3 and 7 us later than if all begin in the
// middle.
TEST(Flags, GpusThatBeginLateMeetTheCopiesOfOthers) {
  machine::SystemSpec system = example_system(4);
  system.node.gpu.port.copy_efficiency = 1. / 3;  // 100 GB/s, as an engine
  Program program(4);
  std::vector<program::Operation> copies;
  for (Rank turn = 1; turn < 4; ++turn)
    copies.emplace_back(copy("copy", 1e6, [turn](Rank rank) { return (rank + turn) % 4; }));
  program.queues = {queue("main", std::move(copies))};
  EXPECT_EQ(run(system, program).end, micro(10 + 3 * 10 + 2 * 2));
  system.node.gpu.host.poll_interval = micro(10);
  const Result result = run(system, program);
  constexpr std::array later = {1, 5, 3, 7};
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_NEAR(result.rank_end[rank].us(), 44 + later[rank], 1e-3) << rank;
}

}  // namespace
}  // namespace moire::replay
