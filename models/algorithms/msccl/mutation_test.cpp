// Changes one step of correct algorithms and compares the checker with executions on numbers in random order.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "models/algorithms/msccl/xml_reader.hpp"
#include "tests/support/example_algorithms.hpp"
#include "tests/support/random_execution.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::msccl {
namespace {

using End = proof::RandomExecution::End;

// Returns how many mutants of each algorithm to test: MOIRE_MUTATIONS, by default 250.
std::uint64_t mutations_of_each() {
  const char* asked = std::getenv("MOIRE_MUTATIONS");
  return asked ? std::strtoull(asked, nullptr, 10) : 250;
}

struct Tally {
  int refused_by_rules = 0;
  int refused = 0;
  int shown_wrong = 0;  // refused algorithms that an execution shows to be wrong
  int accepted = 0;
};

void tell(const Tally& tally) {
  std::printf("refused by rules %d, by execution %d (%d shown wrong), accepted %d\n", tally.refused_by_rules,
              tally.refused, tally.shown_wrong, tally.accepted);
}

std::vector<Algorithm> correct_algorithms() {
  return {ring_all_reduce(4),
          ring_all_reduce(3, Protocol::simple, 4),
          all_pairs_all_reduce(3, 1),
          all_pairs_all_reduce(3, 4),
          all_pairs_all_reduce(4, 2, Protocol::ll),
          recursive_doubling_all_gather(8, Protocol::simple),
          recursive_doubling_all_gather(4),
          two_step_all_to_all(2, 2),
          two_step_all_to_all(2, 3, Protocol::ll),
          chain_broadcast(4, 3),
          ring_reduce_scatter(4)};
}

// The step types that MSCCL XML has.
constexpr std::array<Op, 9> types = {Op::send,
                                     Op::recv,
                                     Op::recv_copy_send,
                                     Op::recv_reduce_copy,
                                     Op::recv_reduce_send,
                                     Op::recv_reduce_copy_send,
                                     Op::copy,
                                     Op::reduce,
                                     Op::none};

class Mutator {
 public:
  Mutator(const Algorithm& correct, std::uint64_t seed) : a_(correct), random_(seed) {}

  // Changes one step or one thread block.
  Algorithm mutated() {
    Algorithm a = a_;
    Gpu& gpu = a.gpus[below(a.gpus.size())];
    ThreadBlock& block = gpu.blocks[below(gpu.blocks.size())];
    if (block.steps.empty()) return a;
    const std::size_t at = below(block.steps.size());
    Step& step = block.steps[at];
    const auto offset = [&](std::int32_t& value) {
      value = static_cast<std::int32_t>(below(static_cast<std::size_t>(a.chunks) + 1));
    };
    switch (below(14)) {
      case 0:
        step.depends_block = step.depends_step = none;
        break;
      case 1:
        offset(step.src_offset);
        break;
      case 2:
        offset(step.dst_offset);
        break;
      case 3:
        step.type = types[below(types.size())];
        if (step.count == 0 && step.type != Op::none) step.count = 1;
        if (step.type == Op::none) step.count = 0;
        break;
      case 4:
        (below(2) == 0 ? block.send : block.recv) = static_cast<std::int32_t>(below(a.gpus.size()));
        break;
      case 5:
        block.steps.erase(block.steps.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 6:
        step.count = static_cast<std::uint16_t>(1 + below(4));
        break;
      case 7:
        block.channel = static_cast<std::int32_t>(below(static_cast<std::size_t>(a.channels)));
        break;
      case 8:
        if (at + 1 < block.steps.size()) std::swap(block.steps[at], block.steps[at + 1]);
        break;
      case 9:
        step.has_dependents = !step.has_dependents;
        break;
      case 10:
        if (step.depends_block != none) step.depends_step = static_cast<std::int32_t>(below(4));
        break;
      case 11:
        step.depends_block = static_cast<std::int32_t>(below(gpu.blocks.size()));
        step.depends_step = 0;
        gpu.blocks[step.depends_block].steps[0].has_dependents = true;
        break;
      case 12:
        (below(2) == 0 ? step.src_buffer : step.dst_buffer) = static_cast<Buffer>(below(buffers));
        break;
      default:
        both_ends(a, step);
    }
    return a;
  }

 private:
  // Changes the type of a step so that the step still fits the other end of its connection. The step then copies
  // instead of adding or adds instead of copying, stores or no longer stores what it sends on, or both.
  void both_ends(Algorithm&, Step& step) {
    static const std::vector<std::pair<Op, Op>> alike = {{Op::recv, Op::recv_reduce_copy},
                                                         {Op::recv_copy_send, Op::recv_reduce_copy_send},
                                                         {Op::recv_reduce_send, Op::recv_reduce_copy_send},
                                                         {Op::recv_copy_send, Op::recv_reduce_send},
                                                         {Op::copy, Op::reduce}};
    for (std::size_t tries = 0; tries < 20; ++tries) {
      const auto& [one, other] = alike[below(alike.size())];
      if (step.type != one && step.type != other) continue;
      step.type = step.type == one ? other : one;
      return;
    }
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

  const Algorithm& a_;
  std::mt19937_64 random_;
};

End execute_at_random(const Algorithm& a, CallPattern pattern, std::uint32_t chunks_per_call, std::uint64_t seed) {
  const proof::Program program = program_of(a);
  const proof::Layout layout = layout_of(a, pattern);
  const proof::Goal goal(a.collective, a.ranks(), a.chunks, layout);
  return proof::RandomExecution(program, layout, goal, chunks_per_call, default_fifo(a.protocol).calls, seed).run();
}

// Tests that the verdict on `a` agrees with `runs` random executions for each call pattern. `a` must keep the rules.
void compare(const Algorithm& a, std::uint64_t seed, std::uint64_t runs, Tally& tally) {
  const Verdict verdict = check(a);
  const Deadlock& deadlock = verdict.deadlock;
  bool shown = false;
  if (!deadlock.never()) {
    for (const CallPattern pattern : call_patterns(a))
      EXPECT_EQ(execute_at_random(a, pattern, deadlock.chunks_per_call_le, seed), End::deadlock);
    shown = true;
  }
  for (const PatternVerdict& p : verdict.patterns) {
    std::vector<std::uint32_t> cuts = distinct_cuts(a);
    std::erase_if(cuts, [&](std::uint32_t cut) { return cut <= deadlock.chunks_per_call_le; });
    for (std::uint64_t run = 0; run < runs; ++run) {
      const End end = execute_at_random(a, p.pattern, cuts[run % cuts.size()], seed * 100 + run);
      EXPECT_NE(end, End::deadlock);
      if (end == End::wrong) {
        shown = true;
        EXPECT_FALSE(verdict.accepted(a)) << "accepted, and run " << run << " goes wrong";
      }
      // Without races, every order gives the same result.
      if (p.races.count == 0) {
        EXPECT_EQ(end == End::right, p.result.correct());
      }
    }
  }
  if (verdict.accepted(a)) {
    ++tally.accepted;
  } else {
    ++tally.refused;
    tally.shown_wrong += shown ? 1 : 0;
  }
}

TEST(Mutations, ExamplesAreCorrect) {
  for (const Algorithm& a : correct_algorithms()) {
    config::Diagnostics diagnostics;
    ASSERT_TRUE(check_rules(a, diagnostics)) << diagnostics.str();
    const Verdict verdict = check(a);
    report(a, verdict, diagnostics);
    EXPECT_TRUE(verdict.accepted(a)) << diagnostics.str();
    Tally tally;
    compare(a, 1, 8, tally);
  }
}

TEST(Mutations, CheckerAndExecutionsAgree) {
  Tally tally;
  const std::uint64_t mutations = mutations_of_each();
  for (const Algorithm& correct : correct_algorithms()) {
    Mutator mutator(correct, 7);
    for (std::uint64_t m = 0; m < mutations; ++m) {
      const Algorithm a = mutator.mutated();
      config::Diagnostics diagnostics;
      if (!check_rules(a, diagnostics)) {
        ++tally.refused_by_rules;
        EXPECT_FALSE(diagnostics.ok());
        continue;
      }
      SCOPED_TRACE(std::string(to_string(a.collective)) + ", mutation " + std::to_string(m));
      compare(a, m, 8, tally);
      if (HasFailure()) return;
    }
  }
  tell(tally);
  EXPECT_GT(tally.refused, 300);
  EXPECT_GT(tally.accepted, 100);
  // A race need not show in an execution. Most other faults show, so executions must show over 70 % of all refused
  // mutants to be wrong.
  EXPECT_GT(tally.shown_wrong * 10, tally.refused * 7);
}

// The same test with third-party algorithms, which are kept outside of the project.
TEST(Mutations, OfOthersAlgorithms) {
  const char* named = std::getenv("MOIRE_SHARED_DATA");
  const auto folder =
      (named ? std::filesystem::path(named) : std::filesystem::path(support::source_dir()) / "../shared/data") /
      "msccl";
  if (!std::filesystem::exists(folder / "generated")) GTEST_SKIP() << "no third-party algorithms in " << folder;
  std::vector<std::string> files;
  for (const char* part : {"generated", "shipped"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder / part)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Tally tally;
  const std::uint64_t mutations = mutations_of_each() / 50;
  for (const std::string& file : files) {
    config::Diagnostics reading;
    const auto correct = read_xml(file, reading);
    ASSERT_TRUE(correct) << reading.str();
    std::size_t steps = 0;
    for (const Gpu& gpu : correct->gpus) {
      for (const ThreadBlock& block : gpu.blocks) steps += block.steps.size();
    }
    if (steps > 400 || correct->collective == Collective::custom) continue;
    Mutator mutator(*correct, 11);
    for (std::uint64_t m = 0; m < mutations; ++m) {
      const Algorithm a = mutator.mutated();
      config::Diagnostics diagnostics;
      if (!check_rules(a, diagnostics)) {
        ++tally.refused_by_rules;
        continue;
      }
      SCOPED_TRACE(file + ", mutation " + std::to_string(m));
      compare(a, m, 4, tally);
      if (HasFailure()) return;
    }
  }
  tell(tally);
}

}  // namespace
}  // namespace moire::msccl
