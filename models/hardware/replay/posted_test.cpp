// Tests of posted work: who waits for it (fences, ends of workgroups and of kernels), and fences of one CU.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/example_program.hpp"

namespace moire::replay {
namespace {

using machine::example_system;
using program::Program;
using ::testing::ElementsAre;

Time us(double t) { return Time::from_us(t); }
Time ns(double t) { return Time::from_ns(t); }

program::Phase post(double bytes, Rank peer) {
  program::Phase phase = work(bytes, peer, 1);
  phase.posted = true;
  return phase;
}

constexpr double way_ns = 500;  // store latency: how much longer a kernel that stored to a peer takes to end

// Runs `steps` in one workgroup of rank 0 and returns when the workgroup ends. A workgroup stores to rank 1 at 50 B/ns,
// so 12.5 kB take 250 ns.
Time end_of(Steps steps) {
  Program program(2);
  program.queues = {
      queue("main", {kernel("post", 1, [=](Rank rank, std::int64_t) { return rank == 0 ? steps : Steps{}; })})};
  Watcher watcher;
  const Result result = run(example_system(2), program, &watcher);
  EXPECT_EQ(result.deadlock, "");
  return result.rank_end[0] - (result.traffic.scale_up_bytes.value > 0 ? ns(way_ns) : Time{});
}

TEST(Posted, PostedStoresGoOnBesideTheWorkgroup) {
  EXPECT_EQ(end_of({post(12.5e3, 1), delay(ns(1000))}), ns(1000));
  EXPECT_EQ(end_of({work(12.5e3, 1, 1), delay(ns(1000))}), ns(1250)) << "not posted";
  EXPECT_EQ(end_of({post(12.5e3, 1), work(40e3)}), ns(400)) << "the loads keep the CU's whole window";
}

TEST(Posted, AFenceWaitsForPostedStores) {
  EXPECT_EQ(end_of({post(12.5e3, 1), fence(ns(70))}), ns(250 + 70));
  EXPECT_EQ(end_of({post(12.5e3, 1), delay(ns(100)), fence(ns(70))}), ns(250 + 70));
  EXPECT_EQ(end_of({post(12.5e3, 1), delay(ns(600)), fence(ns(70))}), ns(600 + 70)) << "long done";
  EXPECT_EQ(end_of({post(12.5e3, 1), delay(ns(100)), post(12.5e3, 1), fence(ns(70)), delay(ns(10))}),
            ns(350 + 70 + 10));
  EXPECT_EQ(end_of({fence(ns(70))}), ns(70)) << "nothing posted";
}

// Workgroups 0, 8 and 16 share a CU. Workgroup 8 asks for a fence while the CU executes that of workgroup 0.
TEST(Posted, ACuExecutesOneFenceAtATime) {
  const auto ends = [](const std::vector<Steps>& of_cu) {
    Program program(2);
    const auto steps = [=](Rank rank, std::int64_t number) {
      return rank == 0 && number % 8 == 0 ? of_cu.at(static_cast<std::size_t>(number / 8)) : Steps{delay(us(1))};
    };
    const auto count = static_cast<std::int64_t>(8 * of_cu.size());
    program.queues = {queue("main", {kernel("fence", count, steps, 256)})};
    Watcher watcher;
    EXPECT_EQ(run(example_system(2), program, &watcher).deadlock, "");
    std::map<std::int64_t, double> fenced;
    std::set<std::uint32_t> cus;
    for (const Watcher::Workgroup& span : watcher.workgroups) {
      if (span.phase != "fence") continue;
      fenced[span.workgroup] = span.end.ns();
      cus.insert(span.cu);
    }
    EXPECT_EQ(cus.size(), 1);
    std::vector<double> all;
    for (const auto& [number, end] : fenced) all.push_back(end);
    return all;
  };
  EXPECT_THAT(ends({{fence(ns(70))}, {delay(ns(30)), fence(ns(70))}}), ElementsAre(70, 140));
  EXPECT_THAT(ends({{fence(ns(70))}, {delay(ns(30)), fence(ns(70))}, {delay(ns(60)), fence(ns(50))}}),
              ElementsAre(70, 140, 140))
      << "those who ask during a fence share the next one, which is as long as the longest";
  EXPECT_THAT(ends({{fence(ns(70))}, {delay(ns(100)), fence(ns(70))}}), ElementsAre(70, 170));
  EXPECT_THAT(ends({{post(12.5e3, 1), fence(ns(70))}, {delay(ns(30)), fence(ns(70))}}), ElementsAre(320, 390))
      << "it also waits for the stores for which the other fence waits";
  EXPECT_THAT(ends({{fence(ns(70))}, {post(12.5e3, 1), fence(ns(70))}}), ElementsAre(70, 320));
}

// Workgroup 0 stores from 0 to 250 ns, and workgroup 1 on another CU asks for a fence. Stores that have been sent until
// then must have arrived, and their GPU must know it.
TEST(Posted, AFenceWaitsForStoresThatOtherCusHaveSent) {
  const auto fenced = [](double asks_ns, Rank peer) {
    Program program(2);
    const auto steps = [=](Rank rank, std::int64_t number) {
      if (rank == 1) return Steps{};
      return number == 0 ? Steps{work(12.5e3, peer, peer == 0 ? 0 : 1)} : Steps{delay(ns(asks_ns)), fence(ns(70))};
    };
    program.queues = {queue("main", {kernel("fence", 2, steps)})};
    Watcher watcher;
    machine::SystemSpec system = example_system(2);
    system.node.gpu.port.store_return = ns(30);
    EXPECT_EQ(run(system, program, &watcher).deadlock, "");
    for (const Watcher::Workgroup& span : watcher.workgroups)
      if (span.phase == "fence") return span.end.ns();
    return 0.;
  };
  const double known = way_ns + 30;
  EXPECT_EQ(fenced(100, 1), 100 + known + 70);
  EXPECT_EQ(fenced(300, 1), 250 + known + 70);
  EXPECT_EQ(fenced(900, 1), 900 + 70) << "long known";
  EXPECT_EQ(fenced(100, 0), 100 + 70) << "stores to the GPU's own memory";
}

// Workgroups 0 to 6 store, each on a CU of its own, and have up to a window of 25 kB in flight. Workgroup 7 asks for a
// fence at 100 ns. The port takes 300 B/ns.
TEST(Posted, AFenceLiesBehindWhatFullLinksHold) {
  const auto fenced = [](double bytes, double share) {
    Program program(2);
    const auto steps = [=](Rank rank, std::int64_t number) {
      if (rank == 1) return Steps{};
      return number < 7 ? Steps{work(bytes, 1, 1)} : Steps{delay(ns(100)), fence(ns(70))};
    };
    program.queues = {queue("main", {kernel("fence", 8, steps)})};
    Watcher watcher;
    machine::SystemSpec system = example_system(2);
    system.node.gpu.port.fence_behind_stores = share;
    EXPECT_EQ(run(system, program, &watcher).deadlock, "");
    for (const Watcher::Workgroup& span : watcher.workgroups)
      if (span.phase == "fence") return span.end.ns() - 100 - 70;
    return 0.;
  };
  EXPECT_EQ(fenced(250e3, 0), way_ns);
  EXPECT_NEAR(fenced(250e3, 1), 7 * 25e3 / 300, 0.001);
  EXPECT_NEAR(fenced(23e3, 1), 7 * 23e3 / 300, 0.001) << "less than a window";
  EXPECT_EQ(fenced(250e3, 0.5), way_ns) << "less than the way";
}

TEST(Posted, ADrainWaitsOnlyForPostedWork) {
  program::Phase drain;
  drain.kind = program::Phase::Kind::drain;
  EXPECT_EQ(end_of({post(12.5e3, 1), drain, delay(ns(10))}), ns(250 + 10));
  EXPECT_EQ(end_of({post(12.5e3, 1), delay(ns(600)), drain}), ns(600)) << "long done";
  EXPECT_EQ(end_of({drain, delay(ns(10))}), ns(10)) << "nothing posted";
}

// Workgroups 0 and 1 are on two CUs. No fence of a kernel ends before its first one would.
TEST(Posted, AKernelsFirstFenceTakesLonger) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.port.first_fence = ns(200);
  const auto steps = [](Rank rank, std::int64_t number) {
    if (rank == 1) return Steps{};
    return number == 0 ? Steps{fence(ns(70)), fence(ns(70))} : Steps{delay(ns(30)), fence(ns(70)), fence(ns(10))};
  };
  Program program(2);
  program.queues = {queue("main", {kernel("one", 2, steps), kernel("two", 2, steps)})};
  Watcher watcher;
  EXPECT_EQ(run(system, program, &watcher).deadlock, "");
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> ends;
  for (const Watcher::Workgroup& span : watcher.workgroups)
    if (span.phase == "fence") ends[{span.kernel, span.workgroup}].push_back(span.end.ns());
  EXPECT_THAT((ends[{"one", 0}]), ElementsAre(200, 270));
  EXPECT_THAT((ends[{"one", 1}]), ElementsAre(200, 210));
  EXPECT_THAT((ends[{"two", 0}]), ElementsAre(270 + 200, 270 + 270)) << "each kernel has a first fence";
}

// One thread raises the flags of a workgroup in turn. The workgroup goes on after its first signal, but its second
// signal waits until the thread has spent the duration of the first one.
TEST(Posted, ASignalInTurnWaitsForTheSignalBefore) {
  const auto end_with = [](Time between, bool in_turn) {
    Program program(2);
    const program::FlagBlock flags = program.add_flags({"raised", 2, [](Rank, std::uint32_t) {
                                                          return std::pair{Rank{0}, std::string("sends")};
                                                        }});
    program.queues = {queue("main", {kernel("sends", 1, [=](Rank rank, std::int64_t) {
                              if (rank == 1) return Steps{wait(flags.at(1, 1))};
                              program::Phase first = signal(1, flags.at(1, 0)), second = signal(1, flags.at(1, 1));
                              first.duration = ns(400);
                              first.in_turn = second.in_turn = in_turn;
                              return Steps{first, delay(between), second, delay(ns(5))};
                            })})};
    const Result result = run(example_system(2), program);
    EXPECT_EQ(result.deadlock, "");
    return std::pair{result.rank_end[0], result.rank_end[1]};
  };
  const auto [sender, receiver] = end_with(ns(100), true);
  EXPECT_EQ(sender, ns(400 + 5 + way_ns)) << "the workgroup waits, too";
  EXPECT_EQ(receiver - end_with(ns(100), false).second, ns(300));
  EXPECT_EQ(end_with(ns(700), true), end_with(ns(700), false)) << "long done";
}

TEST(Posted, TheEndOfAWorkgroupDrainsWhatItPosted) {
  EXPECT_EQ(end_of({post(12.5e3, 1)}), ns(250));
  EXPECT_EQ(end_of({post(25e3, 1), delay(ns(100))}), ns(500));
}

TEST(Posted, AnotherWorkgroupTakesThePlaceOnlyThen) {
  Program program(2);
  program.queues = {queue("main", {kernel("post", 9, [=](Rank rank, std::int64_t) {
                            return rank == 0 ? Steps{post(12.5e3, 1)} : Steps{};
                          })})};
  const Result result = run(example_system(2), program);
  // Eight workgroups could store 50 B/ns each, but share a port of 300 B/ns: 100 kB take 333 1/3 ns. Then the ninth
  // workgroup begins.
  EXPECT_EQ(result.rank_end[0], Time::from_ps(333'334 + 250'000) + ns(way_ns));
  EXPECT_EQ(result.traffic.scale_up_bytes.value, 9 * 12.5e3);
}

}  // namespace
}  // namespace moire::replay
