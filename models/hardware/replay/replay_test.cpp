#include "models/hardware/replay/replay.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/failure.hpp"
#include "tests/support/example_program.hpp"

namespace moire::replay {
namespace {

using machine::example_system;
using program::Program;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Time us(double t) { return Time::from_us(t); }
Time ns(double t) { return Time::from_ns(t); }

// A system in which enqueueing takes 2 us, the start of a kernel 3 us, and the queue gap 1 us.
machine::SystemSpec with_host(std::int64_t gpus = 1) {
  machine::SystemSpec system = example_system(gpus);
  system.node.gpu.host = {.enqueue = us(2), .kernel_start = us(3), .queue_gap = us(1)};
  return system;
}

program::Kernel busy(const std::string& name, Time time, std::int64_t workgroups = 1) {
  return kernel(name, workgroups, [=](Rank, std::int64_t) { return Steps{delay(time)}; });
}

std::vector<double> ends_us(const Result& result) {
  std::vector<double> ends;
  for (const OperationTimes& op : result.operations) ends.push_back(op.end.us());
  return ends;
}

// --- Queues and the host

TEST(Replay, AKernelEndsAfterEnqueueStartAndWork) {
  Program program(1);
  program.queues = {queue("main", {kernel("read", 1, [](Rank, std::int64_t) { return Steps{work(40e3)}; })})};
  const Result result = run(with_host(), program);
  EXPECT_EQ(result.end, us(2 + 3 + 0.4));
  EXPECT_EQ(result.operations[0].begin, us(2));
  EXPECT_EQ(result.workgroups, 1);
  EXPECT_EQ(result.rank_end, std::vector<Time>{result.end});
}

TEST(Replay, APhaseOfNoWorkTakesNoTime) {
  Program program(1);
  program.queues = {queue("main", {kernel("none", 1, [](Rank, std::int64_t) {
                            return Steps{work(0), delay(Time{}), work(40e3)};
                          })})};
  EXPECT_EQ(run(with_host(), program).end, us(5.4));
}

// Instructions take 4 us at the GPU's own clock, and 8 us at half of it. Other delays stay as they are.
TEST(Replay, InstructionsTakeLongerAtALowerClock) {
  program::Phase instructions = delay(us(4));
  instructions.instructions = true;
  machine::SystemSpec system = example_system(1);
  const auto end = [&](const program::Phase& step) {
    Program program(1);
    program.queues = {queue("main", {kernel("think", 1, [&](Rank, std::int64_t) { return Steps{step}; })})};
    return run(system, program).end;
  };
  EXPECT_EQ(end(instructions), us(4));
  system.operate_at(0.5);
  EXPECT_EQ(end(instructions), us(8));
  EXPECT_EQ(end(delay(us(4))), us(4));
}

// A kernel that was enqueued while its queue was busy starts queue_gap after the previous kernel, because its launch
// has ended by then.
TEST(Replay, BackToBackKernelsAreAQueueGapApart) {
  Program program(1);
  program.queues = {queue("main", {busy("a", us(10)), busy("b", us(10)), busy("c", us(10))})};
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(15, 26, 37));
}

// A program of thousands of calls needs no more classes of the sharing law than one call.
TEST(Replay, KernelsWithTheSameShapesShareClasses) {
  const auto classes = [](int calls, std::int64_t threads) {
    Program program(1);
    program.queues = {queue("main", {})};
    for (int call = 0; call < calls; ++call) {
      program::Kernel made = kernel("read", 4, [](Rank, std::int64_t) { return Steps{work(40e3)}; });
      if (call % 2 == 1) made.resources.threads = threads;
      program.queues[0].operations.emplace_back(std::move(made));
    }
    core::RunLoop loop;
    const auto machine = machine::build_or_throw(example_system(1), loop);
    const Result result = Replay(*machine, program).run();
    EXPECT_EQ(result.deadlock, "");
    EXPECT_EQ(result.workgroups, static_cast<std::uint64_t>(4 * calls));
    return machine->sharing().classes();
  };
  const std::int64_t usual = kernel("read", 4, nullptr).resources.threads;
  EXPECT_EQ(classes(1, usual), classes(50, usual));
  EXPECT_EQ(classes(2, usual / 2), classes(50, usual / 2));
  EXPECT_LT(classes(1, usual), classes(2, usual / 2)) << "workgroups of other sizes are other classes";
}

TEST(Replay, ShortKernelsAreBoundByTheHost) {
  Program program(1);
  program.queues = {queue("main", {busy("a", us(0.5)), busy("b", us(0.5)), busy("c", us(0.5))})};
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(5.5, 7.5, 9.5)) << "enqueued at 2, 4 and 6 us";
}

TEST(Replay, AKernelThatMissesItsPredecessorsEndPaysTheRestOfItsStart) {
  Program program(1);
  program.queues = {queue("main", {busy("a", us(1.5)), busy("b", us(1))})};
  // a ends at 6.5 us, and b starts 1 us (the queue gap) later. b was enqueued at 4 us, so it could start from 7 us on.
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(6.5, 8.5));
}

TEST(Replay, TheHostEnqueuesRoundRobinOverTheQueues) {
  Program program(1);
  program.queues = {queue("a", {busy("a0", us(1)), busy("a1", us(1))}),
                    queue("b", {busy("b0", us(1)), busy("b1", us(1))})};
  // The host has enqueued a0 at 2, b0 at 4, a1 at 6 and b1 at 8 us. The previous kernel of the queue has ended by then.
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(6, 10, 8, 12));
}

TEST(Replay, DelaysAndEmptyKernelsTakeTheirPlaceInTheQueue) {
  Program program(1);
  program.queues = {queue("main", {program::Delay{"pause", us(20)}, busy("none", us(7), 0), busy("a", us(1))})};
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(22, 23, 25));
}

// A copy of 1 MB at 100 GB/s takes 10 us. Its first byte moves 10 us after the copy was enqueued, but not before 2 us
// after the end of the previous copy.
TEST(Replay, TheCommandOfACopyBehindACopyIsReadBesideIt) {
  const auto ends = [](double enqueue_us) {
    machine::SystemSpec system = example_system(2);
    system.node.gpu.host = {.enqueue = us(enqueue_us), .kernel_start = us(3), .queue_gap = us(1)};
    Program program(2);
    const auto mate = [](Rank rank) { return rank ^ 1U; };
    program.queues = {
        queue("main", {copy("a", 1e6, mate), copy("b", 1e6, mate), busy("k", us(1)), copy("c", 1e6, mate)})};
    return ends_us(run(system, program));
  };
  EXPECT_THAT(ends(0), ElementsAre(20, 32, 34, 55)) << "behind a kernel a copy pays in full";
  EXPECT_THAT(ends(10), ElementsAre(30, 42, 44, 65)) << "b's command is there when a ends";
  EXPECT_THAT(ends(15), ElementsAre(35, 50, 52, 80)) << "b's command comes 3 us late";
  EXPECT_THAT(ends(20), ElementsAre(40, 60, 64, 100)) << "b is enqueued in the instant in which a ends";
  EXPECT_THAT(ends(21), ElementsAre(41, 62, 67, 104));
}

// The command times of copies were measured between two events, which take 4 us. Between operations of a queue there
// are no events, so these 4 us are deducted. A copy of 1 MB within the GPU takes 2 us.
TEST(Replay, TheEventsOfACommandAreNotPaidInsideAQueue) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host = {.enqueue = us(0), .kernel_start = us(3), .queue_gap = us(1), .event_pair = us(4)};
  system.node.gpu.dma.local_command = us(5);
  Program program(2);
  const auto mate = [](Rank rank) { return rank ^ 1U; };
  const auto self = [](Rank rank) { return rank; };
  program.queues = {queue("main", {busy("k", us(1)), copy("out", 1e6, mate), copy("own", 1e6, self)})};
  // k ends at 4 us, `out` at 4 + 1 - 4 + 10 + 10 us, and `own` 1 - 4 + 5 + 2 us after `out`: queue gap - events +
  // command + bytes.
  const std::vector<double> ends = ends_us(run(system, program));
  EXPECT_THAT(ends, ElementsAre(4, 21, ::testing::DoubleNear(25, 0.01)));
  program.queues = {queue("main", {copy("own", 1e6, self)})};
  EXPECT_NEAR(ends_us(run(system, program))[0], ends[2] - ends[1] + 3, 0.01)
      << "at the head of its queue it pays all of it";
}

TEST(Replay, AQueueWithoutOperationsEndsAtOnce) {
  Program program(1);
  program.queues = {queue("main", {busy("a", us(1))}), queue("idle", {})};
  EXPECT_EQ(run(with_host(), program).end, us(6));
}

TEST(Replay, AWaitHoldsTheQueueUntilAKernelElsewhereRaisesTheFlag) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank, std::uint32_t) {
                                                        return std::pair{Rank{0}, std::string("a")};
                                                      }});
  program.queues = {
      queue("compute", {kernel("a", 1,
                               [=](Rank, std::int64_t) {
                                 return Steps{delay(us(30)), signal(0, flags.at(0, 0))};
                               })}),
      queue("other", {program::Wait{"wait", [=](Rank rank) { return flags.at(rank, 0); }}, busy("b", us(1))})};
  // a ends at 2 + 3 + 30 us. Its flag is visible one L2 latency (0.1 us) later. Then the queue gap and b take 1 us
  // each.
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(35, 35.1, 37.1));
}

TEST(Replay, AStreamRunsBesideItsQueueAndIsPartOfIt) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"event", 2, [](Rank, std::uint32_t) {
                                                        return std::pair{Rank{0}, std::string("a")};
                                                      }});
  const auto event = [=](std::uint32_t number) { return [=](Rank rank) { return flags.at(rank, number); }; };
  program.queues = {
      queue("main", {busy("a", us(10)), program::Signal{"forks", event(0)}, busy("b", us(20)),
                     program::Wait{"joins", event(1)}, busy("c", us(5))}),
      queue("main.beside", {program::Wait{"begins", event(0)}, busy("d", us(40)), program::Signal{"ends", event(1)}})};
  program.queues[1].stream_of = 0;
  const Result together = run(with_host(), program);
  // a ends at 15 us, and its queue then raises the event `forks`. d ends 1 + 40 us later (queue gap and d), and c ends
  // 1 + 5 us after d.
  EXPECT_THAT(together.queue_end[0].us(), together.end.us());
  EXPECT_EQ(together.queue_end[1].us(), 0);
  const double begins = together.operations[0].end.us();
  EXPECT_NEAR(together.operations[6].end.us() - begins, 41, 0.01);
  EXPECT_NEAR(together.end.us() - together.operations[6].end.us(), 6, 0.01);
  // A program of this queue alone still has the stream. In serial order, the stream still runs beside its queue.
  EXPECT_EQ(run(with_host(), program.only(0)).end, together.end);
  program.order = program::Order::serial;
  EXPECT_EQ(run(with_host(), program).end, together.end);
  EXPECT_EQ(program.families(), 1U);
}

TEST(Replay, AWaitForWhatHasHappenedTakesALookAtTheFlag) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 2, [](Rank, std::uint32_t) {
                                                        return std::pair{Rank{0}, std::string("a")};
                                                      }});
  const auto steps = [=](Rank, std::int64_t workgroup) {
    if (workgroup == 0) return Steps{signal(0, flags.at(0, 0)), delay(us(20)), signal(0, flags.at(0, 1))};
    // The second flag rises while workgroup 1 polls the first flag again. Workgroup 2 already waits for the second
    // flag.
    if (workgroup == 1)
      return Steps{delay(us(19.95)),     wait(flags.at(0, 0)), delay(Time{}),
                   wait(flags.at(0, 0)), wait(flags.at(0, 1)), delay(us(1))};
    return Steps{delay(us(1)), wait(flags.at(0, 0)), wait(flags.at(0, 0)), delay(us(2)),
                 delay(us(1)), wait(flags.at(0, 0)), wait(flags.at(0, 1))};
  };
  program.queues = {queue("compute", {kernel("a", 3, steps)})};
  Watcher watcher;
  run(with_host(), program, &watcher);
  std::array<std::vector<std::int64_t>, 3> ends_ns;
  for (const auto& span : watcher.workgroups)
    ends_ns[static_cast<std::size_t>(span.workgroup)].push_back((span.end - us(5)).ps / 1000);
  EXPECT_THAT(ends_ns[0], ElementsAre(20'000));
  EXPECT_THAT(ends_ns[1], ElementsAre(19'950, 20'050, 20'150, 20'250, 21'250));
  EXPECT_THAT(ends_ns[2], ElementsAre(1'000, 1'100, 1'200, 3'200, 4'200, 4'300, 20'200));
}

// --- Workgroups on CUs

TEST(Replay, WorkgroupsRunInWaves) {
  for (const auto& [workgroups, waves] : {std::pair{1, 1}, {8, 1}, {9, 2}, {16, 2}, {17, 3}, {80, 10}}) {
    Program program(1);
    program.queues = {queue("main", {busy("a", us(1), workgroups)})};
    const Result result = run(example_system(1), program);
    EXPECT_EQ(result.end, us(waves)) << workgroups << " workgroups on 8 CUs";
    EXPECT_EQ(result.workgroups, static_cast<std::uint64_t>(workgroups));
  }
}

TEST(Replay, EveryGroupStartsOneWorkgroupALaunchInterval) {
  machine::SystemSpec system = example_system(1);
  system.node.gpu.compute.launch_interval = ns(10);
  // Two groups: workgroups start at 0, 0, 10, 10, 20, 20, 30 and 30 ns; the ninth starts when the first has ended.
  for (const auto& [workgroups, end_ns] : {std::pair{2, 1000.}, {3, 1010.}, {8, 1030.}, {9, 2000.}, {11, 2010.}}) {
    Program program(1);
    program.queues = {queue("main", {busy("a", us(1), workgroups)})};
    EXPECT_EQ(run(system, program).end, ns(end_ns)) << workgroups;
  }
}

// The two workgroups of a CU end together at 1000 ns. Their slots are refilled at 1050 and 1080 ns.
TEST(Replay, PlacesOfOneCuAreRefilledOneAfterTheOther) {
  machine::SystemSpec system = example_system(1);
  system.node.gpu.compute.slot_refill = ns(50);
  system.node.gpu.compute.refill_interval = ns(30);
  for (const auto& [workgroups, end_ns] : {std::pair{16, 1000.}, {24, 2050.}, {32, 2080.}}) {
    Program program(1);
    program::Kernel half = busy("a", us(1), workgroups);
    half.resources.threads = 512;
    program.queues = {queue("main", {half})};
    EXPECT_EQ(run(system, program).end, ns(end_ns)) << workgroups;
  }
}

TEST(Replay, APlaceIsRefilledALittleAfterItsWorkgroupEnded) {
  machine::SystemSpec system = example_system(1);
  system.node.gpu.compute.slot_refill = ns(50);
  for (const auto& [workgroups, end_ns] : {std::pair{8, 1000.}, {9, 2050.}, {17, 3100.}}) {
    Program program(1);
    program.queues = {queue("main", {busy("a", us(1), workgroups)})};
    EXPECT_EQ(run(system, program).end, ns(end_ns)) << workgroups;
  }
}

TEST(Replay, SmallWorkgroupsShareACu) {
  Program program(1);
  // With 16 workgroups of 512 threads, two share a CU, and each gets half of the CU's 100 B/ns. Alone a workgroup takes
  // 200 ns, of which 10 are its bytes in the memory of 1 TB/s. All 160 kB take 160 ns, after the other 190 ns.
  program.queues = {queue("main", {kernel(
                                      "a", 16, [](Rank, std::int64_t) { return Steps{work(10e3)}; }, 512)})};
  EXPECT_EQ(run(example_system(1), program).end, ns(190 + 160));
}

// The slowest of n random rows arrives 50 ns x ln n after an average one. Each of 8 workgroups waits for the slowest of
// its wavefronts, and the kernel for the slowest of those that loaded rows. Workgroups without work do not count.
TEST(Replay, AKernelEndsWithTheSlowestOfItsLoads) {
  machine::SystemSpec system = example_system(1);
  system.node.gpu.hbm.latency_spread = ns(50);
  for (const std::int64_t workgroups : {8, 16}) {
    Program program(1);
    program::Kernel rows =
        kernel("rows", workgroups, [](Rank, std::int64_t number) { return number < 8 ? Steps{work(40e3)} : Steps{}; });
    rows.shapes[0].pipelined = false;
    rows.shapes[0].random_rows = true;
    program.queues = {queue("main", {rows})};
    Watcher watcher;
    const Time end = run(system, program, &watcher).end;
    Time loaded;
    for (const Watcher::Workgroup& span : watcher.workgroups) {
      if (span.phase == "read") loaded = std::max(loaded, span.end);
    }
    const auto wavefronts = static_cast<double>(1024 / system.node.gpu.compute.wavefront);
    const double bytes_in_memory = 8 * 40e3 / 1000;  // ns, at 1 TB/s
    const double lines = 40e3 / wavefronts / 128;
    EXPECT_GE(loaded.ns(), 400 + 50 * std::log(lines * wavefronts) - 1e-3);
    EXPECT_LE(loaded.ns(), 400 + 50 * std::log(lines * wavefronts) + bytes_in_memory + 1e-3);
    EXPECT_NEAR((end - loaded).ns(), 50 * std::log(8.), 2e-3);
  }
}

TEST(Replay, AWaitingWorkgroupLeavesItsShareOfTheCu) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank, std::uint32_t) {
                                                        return std::pair{Rank{0}, std::string("a")};
                                                      }});
  program.queues = {
      queue("main", {kernel(
                        "a", 16,
                        [=](Rank, std::int64_t wg) {
                          return wg < 8 ? Steps{work(10e3), signal(0, flags.at(0, 0))} : Steps{wait(flags.at(0, 0), 8)};
                        },
                        512)})};
  EXPECT_EQ(run(example_system(1), program).end, ns(90 + 80 + 100 + 100))
      << "reads alone (first loads, then 80 kB in the memory), L2 latency of flag and poll";
}

// Workgroups of one panel load the same bytes. Caches keep a line for 40 us. A workgroup that begins 30 us after the
// previous workgroup of its panel, because it waited for a flag, finds a quarter of these bytes in the cache. The next
// workgroup begins together with it and finds all of them.
TEST(Replay, AWorkgroupOutOfStepLoadsForItself) {
  Program program(1);
  const program::FlagBlock flags = program.add_flags({"go", 1, [](Rank, std::uint32_t) {
                                                        return std::pair{Rank{0}, std::string("shared")};
                                                      }});
  const auto load = [](std::uint32_t panel) {
    program::Phase phase = work(40e3);
    phase.panel = panel;
    return phase;
  };
  program::Kernel shared = kernel("shared", 4, [=](Rank, std::int64_t number) {
    if (number == 3) return Steps{delay(us(30)), signal(0, flags.at(0, 0))};
    if (number == 0) return Steps{load(1), load(0)};
    return Steps{wait(flags.at(0, 0)), load(1), load(2)};
  });
  shared.shapes.push_back({.name = "read alone", .read = 3, .in_flight = {40e3}});
  shared.shapes[0].out_of_step = 2;
  const auto alone_with = [&](Time residence) {
    shared.shapes[0].residence = residence;
    program.queues = {queue("main", {shared})};
    return run(with_host(), program).operations[0].phases;
  };
  // 40 kB take 400 ns. For evicted bytes, the workgroup uses the shape `read alone`, which reads three times as many
  // bytes. It begins 30.2 us after workgroup 0: the flag rises 100 ns (an L2 hit) after the signal at 30 us, and the
  // poll takes another 100 ns.
  const double lost = 30.2 / 40;
  const auto phases = alone_with(us(40));
  EXPECT_EQ(phases[0].count, 6);
  EXPECT_EQ(phases[2].count, 1);
  EXPECT_NEAR(phases[2].total.us(), 3 * 0.4 * lost, 1e-3);
  EXPECT_NEAR(phases[0].total.us(), 0.4 * (6 - lost), 0.05) << "first loads also wait for those of others";
  const auto nothing_kept = alone_with(us(20));
  EXPECT_EQ(nothing_kept[0].count, 6);
  EXPECT_NEAR(nothing_kept[2].total.us(), 3 * 0.4, 1e-3);
}

TEST(Replay, AUrgentQueueTakesTheNextFreeCus) {
  const auto ends_with_priority = [](int priority) {
    machine::SystemSpec system = example_system(1);
    system.node.gpu.host.enqueue = us(0.5);
    Program program(1);
    program.queues = {queue("bulk", {busy("bulk", us(1), 24)}), queue("urgent", {busy("urgent", us(1), 8)}, priority)};
    return ends_us(run(system, program));
  };
  EXPECT_THAT(ends_with_priority(0), ElementsAre(3.5, 4.5));
  EXPECT_THAT(ends_with_priority(1), ElementsAre(4.5, 2.5));
}

TEST(Replay, ClustersWaitForRoomInOneGroup) {
  Program program(1);
  program::Kernel pairs = busy("pairs", us(1), 2);
  pairs.resources.cluster = 2;
  // Seven long workgroups leave one CU free. The cluster needs two free CUs of one group.
  program.queues = {
      queue("main", {kernel("fill", 7, [](Rank, std::int64_t wg) { return Steps{delay(us(wg == 0 ? 10 : 20))}; })}),
      queue("pairs", {pairs}), queue("single", {busy("single", us(1))})};
  // The groups are CUs 0-3 and 4-7. Workgroups 0, 2, 4, 6 are on CUs 0-3, and 1, 3, 5 are on CUs 4-6. CU 0 is free from
  // 10 us on and CU 7 from the start, but they are in different groups. All other workgroups end at 20 us. The single
  // workgroup may not overtake the cluster.
  EXPECT_THAT(ends_us(run(example_system(1), program)), ElementsAre(20, 21, 21));
}

// --- Between ranks

std::pair<Rank, std::string> by_rank_0(Rank, std::uint32_t) { return {0, "talk"}; }

TEST(Replay, ASignalArrivesOneStoreLatencyLater) {
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
  program.queues = {
      queue("main", {kernel("talk", 1, [=](Rank rank, std::int64_t) {
              return rank == 0 ? Steps{delay(us(1)), signal(1, flags.at(1, 0))} : Steps{wait(flags.at(1, 0))};
            })})};
  const Result result = run(example_system(2), program);
  EXPECT_EQ(result.rank_end[0], ns(1000 + 500)) << "the kernel ends a store latency after the signal";
  EXPECT_EQ(result.rank_end[1], ns(1000 + 500 + 100)) << "store latency, then a poll";
  EXPECT_EQ(result.traffic.puts, 0);
}

TEST(Replay, StoresToAPeerTakeItsPort) {
  Program program(4);
  // Three ranks with 8 workgroups each store 12.5 kB to rank 0: 24 x 12.5 kB through 300 GB/s.
  program.queues = {queue("main", {kernel("store", 8, [](Rank rank, std::int64_t) {
                            return rank == 0 ? Steps{} : Steps{work(12.5e3, 0, 1)};
                          })})};
  const Result result = run(example_system(4), program);
  EXPECT_EQ(result.rank_end[0], Time{}) << "it has stored nothing";
  EXPECT_EQ(result.end, ns(1000 + 500));
}

// A put takes, in ns: wqe_build 300 + doorbell 200 + two work requests at 100 M/s 20 + PCIe 500 + path + bytes / 25
// GB/s + flag_latency 400 + poll 100.
TEST(Replay, APutTakesWhatItsPartsTake) {
  const machine::SystemSpec system = example_system(1, 2);
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  std::vector<core::LinkId> path;
  machine->service<part::Networks>().topology().route(0, 1, 0, path);
  Time latency;
  for (const core::LinkId link : path) latency += machine->service<part::Networks>().topology().links()[link].latency;
  for (const bool proxied : {false, true}) {
    Program program(2);
    const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
    program.queues = {queue("main", {kernel("talk", 1, [=](Rank rank, std::int64_t) {
                              program::Phase send = put(1, 50e3, flags.at(1, 0));
                              send.proxied = proxied;
                              return rank == 0 ? Steps{send} : Steps{wait(flags.at(1, 0))};
                            })})};
    const Result result = run(system, program);
    EXPECT_EQ(result.rank_end[0], ns(300)) << "only the work request";
    EXPECT_EQ(result.rank_end[1], ns(300 + (proxied ? 800 + 300 : 0) + 200 + 20 + 500 + 2000 + 400 + 100) + latency);
    EXPECT_EQ(result.traffic.puts, 1);
    EXPECT_EQ(result.traffic.put_bytes.value, 50e3);
  }
}

// Rank 1 is the relay of rank 0: rank 0 stores its message to rank 3 in rank 1's memory, and rank 1's NIC sends it 500
// ns later, the latency of a store. The message back also arrives at rank 1's NIC.
TEST(Replay, ARelaySendsAndReceivesInPlaceOfAnother) {
  const machine::SystemSpec system = example_system(2, 2);
  const auto times = [&system](Rank relay, Watcher& watcher) {
    Program program(4);
    const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
    program.queues = {queue("main", {kernel("talk", 1, [=](Rank rank, std::int64_t) {
                              program::Phase there = put(3, 50e3, flags.at(3, 0)), back = put(0, 8, flags.at(0, 0));
                              there.proxied = back.proxied = true;
                              there.relay = back.relay = relay;
                              if (rank == 0) return Steps{there, wait(flags.at(0, 0))};
                              if (rank == 3) return Steps{wait(flags.at(3, 0)), back};
                              return Steps{};
                            })})};
    const Result result = run(system, program, &watcher);
    EXPECT_EQ(result.deadlock, "");
    EXPECT_EQ(result.traffic.put_bytes.value, 50008);
    EXPECT_EQ(result.traffic.scale_up_bytes.value, 0) << "what is stored at a relay is a phase of its own";
    return result.rank_end;
  };
  Watcher own, relayed;
  const std::vector<Time> usual = times(program::no_rank, own), over_1 = times(1, relayed);
  EXPECT_EQ(over_1[0], usual[0] + ns(500));
  EXPECT_EQ(over_1[3], usual[3] + ns(500));
  ASSERT_EQ(relayed.puts.size(), 2);
  EXPECT_EQ(own.puts[0].path, "NIC 0");
  EXPECT_EQ(relayed.puts[0].path, "NIC 1");
  EXPECT_EQ(relayed.puts[0].source, 0) << "it is still its message";
  EXPECT_EQ(relayed.puts[1].path, "NIC 3") << "only the other end is another one";
}

TEST(Replay, OnlyTheWorkgroupThatCompletesTheGatePuts) {
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
  const program::FlagBlock gates = program.add_flags({"done", 2, by_rank_0});
  program.queues = {queue("main", {kernel("talk", 5, [=](Rank rank, std::int64_t wg) {
                            if (rank == 1) return wg == 0 ? Steps{wait(flags.at(1, 0))} : Steps{};
                            program::Phase send = put(1, 1000, flags.at(1, 0));
                            send.gate = gates.at(0, 1);
                            send.gate_target = 5;
                            return Steps{delay(us(wg == 2 ? 9 : 1 + static_cast<double>(wg))), send};
                          })})};
  Watcher watcher;
  const Result result = run(example_system(1, 2), program, &watcher);
  EXPECT_EQ(result.traffic.puts, 1);
  ASSERT_EQ(watcher.puts.size(), 1);
  EXPECT_EQ(watcher.puts[0].begin, us(9)) << "workgroup 2 is the last";
  EXPECT_EQ(result.deadlock, "");
}

TEST(Replay, ASignalBehindAGateIsSentOnce) {
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
  const program::FlagBlock gates = program.add_flags({"done", 1, by_rank_0});
  program.queues = {queue("main", {kernel("talk", 3, [=](Rank rank, std::int64_t wg) {
                            if (rank == 1) return wg == 0 ? Steps{wait(flags.at(1, 0))} : Steps{};
                            program::Phase send = signal(1, flags.at(1, 0));
                            send.gate = gates.at(0, 0);
                            send.gate_target = 3;
                            return Steps{delay(us(1 + static_cast<double>(wg))), send};
                          })})};
  Watcher watcher;
  EXPECT_EQ(run(example_system(2), program, &watcher).rank_end[1], ns(3000 + 500 + 100));
  EXPECT_EQ(watcher.puts.size(), 1);
}

TEST(Replay, WhatIsSentArrives) {
  const machine::SystemSpec system = example_system(1, 3);
  Program program(3);
  const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
  program.queues = {queue("main", {kernel("talk", 4, [=](Rank rank, std::int64_t wg) {
                            Steps steps;
                            for (Rank to = 0; to < 3; ++to) {
                              if (to != rank)
                                steps.push_back(put(to, 1000 + 10 * rank + static_cast<double>(wg), flags.at(to, 0)));
                            }
                            steps.push_back(wait(flags.at(rank, 0), 8));
                            return steps;
                          })})};
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  const Result result = Replay(*machine, program).run();
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.traffic.puts, 24);
  EXPECT_EQ(result.traffic.put_bytes.value, 2 * (12 * 1000 + 10 * 4 * (0 + 1 + 2) + 3 * (0 + 1 + 2 + 3)));
  EXPECT_EQ(machine->service<part::Networks>().network(0).delivered(), result.traffic.put_bytes);
}

// --- What observers see

// In this program, every workgroup of every rank works, stores, signals, puts, raises a flag of its own rank, and
// waits. A second queue copies at the same time.
Program mixed(const machine::SystemSpec& system) {
  Program program(static_cast<Rank>(system.ranks()));
  const program::FlagBlock flags = program.add_flags({"go", 4, by_rank_0});
  const Rank ranks = program.ranks();
  program.queues = {queue("main", {kernel(
                                      "talk", 6,
                                      [=](Rank rank, std::int64_t wg) {
                                        const Rank mate = rank ^ 1U;
                                        const Rank far = (rank + 2) % ranks;
                                        return Steps{work(5e3 * static_cast<double>(wg + 1)),
                                                     work(1e3, mate, 1),
                                                     signal(mate, flags.at(mate, 0)),
                                                     put(far, 3000, flags.at(far, 1)),
                                                     signal(rank, flags.at(rank, 2)),
                                                     wait(flags.at(rank, 0), 6),
                                                     wait(flags.at(rank, 1), 6)};
                                      },
                                      512)}),
                    queue("copies", {copy(
                                         "copy", 1e6, [](Rank rank) { return rank ^ 1U; }, flags),
                                     copy("back", 1e6, [](Rank rank) { return rank ^ 1U; })})};
  return program;
}

TEST(Replay, ObserversSeeWhichWayASignalGoes) {
  const machine::SystemSpec system = example_system(2, 2);
  Watcher watcher;
  const Result result = run(system, mixed(system), &watcher);
  ASSERT_EQ(result.deadlock, "");
  int stores = 0, own = 0, nic = 0;
  for (const Watcher::Put& put : watcher.puts) {
    if (put.destination == (put.source ^ 1U)) {
      ++stores;
      EXPECT_EQ(put.path, "scale-up");
      EXPECT_EQ(put.bytes, 0);
    } else if (put.destination == put.source) {
      ++own;
      EXPECT_EQ(put.path, "local");
    } else {
      ++nic;
      EXPECT_EQ(put.path, "NIC " + std::to_string(put.source));
      EXPECT_EQ(put.bytes, 3000);
    }
    EXPECT_LT(put.cu, 8);
  }
  EXPECT_THAT((std::array{stores, own, nic}), ElementsAre(24, 24, 24));
  EXPECT_EQ(watcher.copies.size(), 8);
}

// A signal ignores Phase::bytes and Phase::proxied, even if a body sets them.
TEST(Replay, ASignalHasNoBytesAndIsIssuedByItsWorkgroup) {
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
  program.queues = {queue("main", {kernel("talk", 1, [=](Rank rank, std::int64_t) {
                            program::Phase send = signal(1, flags.at(1, 0));
                            send.bytes = {4096};
                            send.proxied = true;
                            return rank == 0 ? Steps{send} : Steps{};
                          })})};
  Watcher watcher;
  run(example_system(2), program, &watcher);
  ASSERT_EQ(watcher.puts.size(), 1);
  EXPECT_EQ(watcher.puts[0].path, "scale-up");
  EXPECT_EQ(watcher.puts[0].bytes, 0);
  EXPECT_EQ(watcher.puts[0].cu, 0);
}

// The second signal is sent later and without the delay of 5 us, but must not arrive before the first signal. This
// holds with and without an observer.
TEST(Replay, RaisesInOrderDoNotOvertakeWhetherObservedOrNot) {
  const machine::SystemSpec system = example_system(2);
  Program program(2);
  const program::FlagBlock flags = program.add_flags({"slices", 1, by_rank_0, true});
  program.queues = {
      queue("main", {kernel("talk", 1, [=](Rank rank, std::int64_t) {
              program::Phase slow = signal(1, flags.at(1, 0));
              slow.duration = us(5);
              return rank == 0 ? Steps{slow, delay(us(1)), signal(1, flags.at(1, 0))} : Steps{wait(flags.at(1, 0), 1)};
            })})};
  const Time arrives = us(5) + system.node.gpu.port.store_latency;
  EXPECT_EQ(run(system, program).end, arrives + system.node.gpu.l2.hit_latency);
  Watcher watcher;
  EXPECT_EQ(run(system, program, &watcher).end, arrives + system.node.gpu.l2.hit_latency);
  ASSERT_EQ(watcher.puts.size(), 2);
  EXPECT_EQ(watcher.puts[0].end, arrives);
  EXPECT_EQ(watcher.puts[1].end, arrives);
}

TEST(Replay, ObserversDoNotChangeTiming) {
  const machine::SystemSpec system = example_system(2, 2);
  const Program program = mixed(system);
  Watcher watcher;
  const Result watched = run(system, program, &watcher);
  const Result alone = run(system, program);
  EXPECT_GT(watcher.loads, 0);
  EXPECT_FALSE(watcher.workgroups.empty());
  EXPECT_EQ(watched.rank_end, alone.rank_end);
  EXPECT_EQ(ends_us(watched), ends_us(alone));
}

TEST(Replay, SpansOfAWorkgroupAreEndToEnd) {
  const machine::SystemSpec system = example_system(2, 2);
  Watcher watcher;
  const Result result = run(system, mixed(system), &watcher);
  std::vector<Watcher::Workgroup> of_one;
  for (const auto& span : watcher.workgroups) {
    if (span.rank == 3 && span.workgroup == 4) of_one.push_back(span);
  }
  std::vector<std::string> phases;
  for (std::size_t i = 0; i < of_one.size(); ++i) {
    phases.push_back(of_one[i].phase);
    EXPECT_EQ(of_one[i].begin, i == 0 ? of_one[0].begin : of_one[i - 1].end);
  }
  EXPECT_THAT(phases, ElementsAre("read", "store", "put", "wait", "wait"));
  EXPECT_LE(of_one.back().end, result.end);
}

TEST(Replay, TwoRunsAreEqual) {
  const machine::SystemSpec system = example_system(2, 2);
  const Program program = mixed(system);
  Watcher first, second;
  run(system, program, &first);
  run(system, program, &second);
  ASSERT_EQ(first.workgroups.size(), second.workgroups.size());
  for (std::size_t i = 0; i < first.workgroups.size(); ++i) {
    EXPECT_EQ(first.workgroups[i].rank, second.workgroups[i].rank);
    EXPECT_EQ(first.workgroups[i].end, second.workgroups[i].end);
  }
}

// Permutes the work of the ranks. Times must not depend on rank numbers.
TEST(Replay, PermutedRanksDoTheSame) {
  const machine::SystemSpec system = example_system(4);
  const auto run_as = [&](const std::array<Rank, 4>& at) {  // role i is played by rank at[i]
    std::array<Rank, 4> role{};
    for (Rank i = 0; i < 4; ++i) role[at[i]] = i;
    Program program(4);
    const program::FlagBlock flags = program.add_flags({"go", 1, by_rank_0});
    program.queues = {queue("main", {kernel(
                                        "ring", 12,
                                        [=](Rank rank, std::int64_t wg) {
                                          const Rank next = at[(role[rank] + 1) % 4];
                                          const double bytes = 1e3 * (1 + role[rank]) * static_cast<double>(1 + wg % 5);
                                          return Steps{work(bytes),
                                                       work(3 * bytes, next, 1),
                                                       work(bytes, at[0], role[rank] == 0 ? 0 : 1),
                                                       signal(next, flags.at(next, 0)),
                                                       wait(flags.at(rank, 0), 12),
                                                       work(bytes)};
                                        },
                                        512)})};
    const Result result = run(system, program);
    EXPECT_EQ(result.deadlock, "");
    std::array<Time, 4> ends{};
    for (Rank i = 0; i < 4; ++i) ends[i] = result.rank_end[at[i]];
    return ends;
  };
  const auto straight = run_as({0, 1, 2, 3});
  EXPECT_NE(straight[0], straight[1]) << "the roles differ";
  EXPECT_EQ(run_as({1, 2, 3, 0}), straight);
  EXPECT_EQ(run_as({3, 1, 0, 2}), straight);
}

// --- Schedules of several queues

Program two_queues() {
  Program program(1);
  program.queues = {queue("a", {busy("a1", us(10)), busy("a2", us(10))}), queue("b", {busy("b1", us(10))})};
  return program;
}

// The host enqueues a1 at 2 us, b1 at 4 us and a2 at 6 us. a1 and b1 start 3 us later, and a2 starts 1 us (the queue
// gap) after a1 ends.
TEST(Schedules, TheHostEnqueuesInLaunchOrder) {
  Program program = two_queues();
  Result result = run(with_host(), program);
  EXPECT_THAT(ends_us(result), ElementsAre(15, 26, 17));
  EXPECT_THAT(result.queue_end, ElementsAre(us(26), us(17)));
  program.launch = {1, 0};
  result = run(with_host(), program);
  EXPECT_THAT(ends_us(result), ElementsAre(17, 28, 15));
}

// Kernels run as in one queue: b1 starts one queue gap after a2. If queue b is launched first, a1 starts one queue gap
// after b1.
TEST(Schedules, SerialQueuesRunLikeOne) {
  Program program = two_queues();
  program.order = program::Order::serial;
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(15, 26, 37));
  Program one(1);
  one.queues = {queue("one", {busy("a1", us(10)), busy("a2", us(10)), busy("b1", us(10))})};
  EXPECT_EQ(ends_us(run(with_host(), one)), ends_us(run(with_host(), program)));
  program.launch = {1, 0};
  EXPECT_THAT(ends_us(run(with_host(), program)), ElementsAre(26, 37, 15));
}

// Serial queues also run like one queue if copies follow kernels and kernels follow copies, where queues poll for the
// end of the previous operation.
TEST(Schedules, SerialQueuesOfCopiesRunLikeOne) {
  machine::SystemSpec system = with_host(2);
  system.node.gpu.host.poll_interval = us(4);
  const auto peer = [](Rank rank) { return 1 - rank; };
  Program several(2);
  several.order = program::Order::serial;
  several.queues = {queue("k", {busy("k1", us(10))}), queue("none", {}),
                    queue("c", {copy("c1", 1e6, peer), copy("c2", 1e6, peer)}), queue("l", {busy("l1", us(5))})};
  Program one(2);
  one.queues = {queue("one", {busy("k1", us(10)), copy("c1", 1e6, peer), copy("c2", 1e6, peer), busy("l1", us(5))})};
  EXPECT_EQ(ends_us(run(system, one)), ends_us(run(system, several)));
}

TEST(Schedules, AQueueAloneIsEnqueuedAtOnce) {
  const Program alone = two_queues().only(1);
  const Result result = run(with_host(), alone);
  EXPECT_THAT(ends_us(result), ElementsAre(15));
}

TEST(Schedules, KernelsStayOnTheCusOfTheirQueue) {
  Program program(1);
  program.queues = {queue("a", {busy("a1", us(10), 8)}), queue("b", {busy("b1", us(10), 8)})};
  program.queues[0].cus = {0, 1, 4, 5};
  program.queues[1].cus = {2, 3, 6, 7};
  Watcher watcher;
  const Result result = run(example_system(1), program, &watcher);
  EXPECT_THAT(ends_us(result), ElementsAre(20, 20)) << "two waves each, beside each other";
  ASSERT_EQ(watcher.workgroups.size(), 16);
  for (const Watcher::Workgroup& span : watcher.workgroups) EXPECT_EQ(span.kernel == "b1", span.cu % 4 >= 2) << span.cu;
}

// The second kernel arrives while the first one occupies all eight CUs, until 15 us.
TEST(Schedules, AKernelWithoutAPlaceOnACuIsSeenToWait) {
  struct Waits final : program::Observer {
    std::vector<std::pair<std::string, std::pair<double, double>>> seen;
    void operation(const program::OperationSpan& span) override {
      if (span.reason == program::WaitReason::cu_slot) {
        seen.push_back({std::string(span.name), {span.begin.us(), span.end.us()}});
      }
    }
  } waits;
  Program program(1);
  program.queues = {queue("a", {busy("a1", us(10), 8)}), queue("b", {busy("b1", us(10))})};
  run(with_host(), program, &waits);
  EXPECT_THAT(waits.seen, ElementsAre(std::pair("b1", std::pair(7.0, 15.0))));
}

TEST(Replay, WhatTheClockCannotTellIsToldWithTheOperationAtWork) {
  Program program(1);
  program.queues = {queue("main", {busy("first", us(1)), busy("second", Time{Time::max().ps - 1})})};
  EXPECT_THAT([&] { run(example_system(1), program); },
              ::testing::ThrowsMessage<core::RunFailure>(::testing::AllOf(::testing::HasSubstr("longer than 106 days"),
                                                                          ::testing::HasSubstr("operation 'second'"))));
}

}  // namespace
}  // namespace moire::replay
