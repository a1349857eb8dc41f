#include <gtest/gtest.h>

#include "models/hardware/replay/fold.hpp"
#include "tests/support/example_program.hpp"

namespace moire::replay {

namespace {

using machine::example_system;
using program::FlagBlock;
using program::Phase;
using program::Program;

Time ns(std::int64_t count) { return Time{count * 1000}; }

// A kernel of 40 workgroups of different lengths, for 8 CUs. Every rank does the same and uses no other rank.
class OwnBody final : public program::KernelBody {
 public:
  std::int64_t workgroups(Rank) const override { return 40; }
  bool by_itself() const override { return true; }
  bool phase(Rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    if (step == 1) phase = delay(ns(70 + workgroup));
    if (step == 0 || step == 2) phase = work(1000.0 * static_cast<double>(7 + workgroup % 5));
    phase.posted = step == 2;
    return step < 3;
  }
};

program::Kernel own_kernel(const std::string& name) {
  program::Kernel made = kernel(name, 40, nullptr, 512);
  made.body = std::make_shared<OwnBody>();
  return made;
}

struct Ran {
  Result result;
  std::vector<double> served;
  std::uint64_t events = 0;
};

std::vector<bool> all_of(const Program& program) {
  return std::vector<bool>(program.queues[0].operations.size(), true);
}

Ran run_all(const machine::SystemSpec& system, const Program& program, Likes likes) {
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  Ran ran;
  ran.result = Replay(*machine, program, nullptr, all_of(program), likes).run();
  ran.served = machine->sharing().served();
  ran.events = loop.calendar().fired();
  return ran;
}

void expect_same(const Result& a, const Result& b) {
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.rank_end, b.rank_end);
  EXPECT_EQ(a.queue_end, b.queue_end);
  EXPECT_EQ(a.workgroups, b.workgroups);
  ASSERT_EQ(a.operations.size(), b.operations.size());
  for (std::size_t o = 0; o < a.operations.size(); ++o) {
    const OperationTimes &one = a.operations[o], &other = b.operations[o];
    EXPECT_EQ(one.begin, other.begin);
    EXPECT_EQ(one.end, other.end);
    EXPECT_EQ(one.first_workgroup, other.first_workgroup);
    EXPECT_EQ(one.workgroups, other.workgroups);
    ASSERT_EQ(one.phases.size(), other.phases.size());
    for (std::size_t p = 0; p < one.phases.size(); ++p) {
      EXPECT_EQ(one.phases[p].count, other.phases[p].count) << one.phases[p].name;
      EXPECT_EQ(one.phases[p].mean_us(), other.phases[p].mean_us()) << one.phases[p].name;
    }
    ASSERT_EQ(a.spans[o].size(), b.spans[o].size());
    for (std::size_t rank = 0; rank < a.spans[o].size(); ++rank) {
      EXPECT_EQ(a.spans[o][rank].begin, b.spans[o][rank].begin);
      EXPECT_EQ(a.spans[o][rank].end, b.spans[o][rank].end);
    }
  }
}

// Two kernels that every rank runs by itself. Between them, each rank puts 10 kB to the next rank and waits for a put.
Program passing_on(Rank ranks) {
  Program program(ranks);
  const FlagBlock flags = program.add_flags({"go", 1, [](Rank rank, std::uint32_t) { return std::pair{rank, ""}; }});
  program.queues = {queue("main", {own_kernel("first"),
                                   kernel("pass", 1,
                                          [=](Rank rank, std::int64_t) {
                                            return Steps{delay(ns(31 * rank)),
                                                         put((rank + 1) % ranks, 1e4, flags.at((rank + 1) % ranks, 0)),
                                                         wait(flags.at(rank, 0))};
                                          }),
                                   own_kernel("second")})};
  return program;
}

}  // namespace

TEST(StandIn, OneRankForAllSaysTheSame) {
  machine::SystemSpec system = example_system(1, 6);
  system.node.gpu.host.queue_gap = ns(1200);
  system.node.gpu.compute.launch_interval = ns(3);
  auto uneven = std::make_shared<part::Uneven>();
  for (int rank = 0; rank < 6; ++rank) uneven->start.push_back(ns(1000 + 977 * (rank % 4)));
  for (const bool late : {false, true}) {
    if (late) system.uneven = uneven;
    const Program program = passing_on(6);
    const Ran each = run_all(system, program, Likes::each);
    const Ran one = run_all(system, program, Likes::one);
    expect_same(each.result, one.result);
    EXPECT_LT(one.events, each.events / 4);
    ASSERT_EQ(each.served.size(), one.served.size());
    for (std::size_t id = 0; id < each.served.size(); ++id)
      EXPECT_NEAR(one.served[id], each.served[id], 1e-9 * each.served[id]) << id;
  }
}

// The first loads of a kernel wait for an idle memory. Whether the memory of rank 1 was idle must not depend on whether
// its own kernel was simulated.
TEST(StandIn, LeavesTheMemoriesOfOthersAsTheyAre) {
  machine::SystemSpec system = example_system(2);
  for (const Time later : {ns(50), ns(150), ns(390), ns(900)}) {
    Program program(2);
    program.queues = {queue("main", {own_kernel("own"), kernel("store", 8, [=](Rank rank, std::int64_t) {
                                       return rank == 0 ? Steps{work(1e5, 1, 1)} : Steps{delay(later), work(1e5)};
                                     })})};
    system.node.gpu.host.queue_gap = ns(400);  // the latency of the memory
    expect_same(run_all(system, program, Likes::each).result, run_all(system, program, Likes::one).result);
    system.node.gpu.host.queue_gap = ns(399);
    EXPECT_THROW(run_all(system, program, Likes::one), NotByItself);
  }
}

TEST(StandIn, NotWhereOthersCome) {
  machine::SystemSpec system = example_system(2);
  system.node.gpu.host.queue_gap = ns(400);  // the kernel of rank 1 begins after 450 ns
  const auto storing = [&](Time later) {
    Program program(2);
    // Rank 0 stores to rank 1, which only runs its own kernel.
    program.queues = {
        queue("main", {kernel("store", 8,
                              [=](Rank rank, std::int64_t) {
                                return rank == 0 ? Steps{delay(later), work(2e4, 1, 1)} : Steps{delay(ns(50))};
                              }),
                       own_kernel("own")})};
    return program;
  };
  const auto build = [&](Rank) {
    config::Problem error;
    return machine::Machine::build(system, error);
  };
  // The kernel begins while stores arrive: each rank is simulated.
  const Program among = storing(ns(410));
  expect_same(run_all(system, among, Likes::each).result, run_all(system, among, Likes::one).result);
  // Stores arrive after the kernel has begun, so NotByItself is thrown, and run_folded() repeats the run.
  const Program later = storing(ns(600));
  EXPECT_THROW(run_all(system, later, Likes::one), NotByItself);
  expect_same(run_all(system, later, Likes::each).result, run_folded({}, build, later, nullptr, all_of(later)).result);
}

}  // namespace moire::replay
