// Breaks one step of a correct algorithm and tests that the checker names this step.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "tests/support/example_algorithms.hpp"

namespace moire::msccl {
namespace {

enum class Break { source, destination, type, copies_to_itself };

// Changes one offset or the type of the step, or makes the step copy its source to itself. Returns false if this type
// of step cannot be broken in this way.
bool broken(Algorithm& algorithm, Step& step, Break how, std::uint64_t random) {
  static const std::map<Op, Op> other = {{Op::recv, Op::recv_reduce_copy},
                                         {Op::recv_reduce_copy, Op::recv},
                                         {Op::recv_copy_send, Op::recv_reduce_copy_send},
                                         {Op::recv_reduce_copy_send, Op::recv_copy_send},
                                         {Op::recv_reduce_send, Op::recv_copy_send},
                                         {Op::copy, Op::reduce},
                                         {Op::reduce, Op::copy}};
  const Effect does = effect(step.type);
  const auto offset = static_cast<std::int32_t>(random % static_cast<std::uint64_t>(algorithm.chunks));
  switch (how) {
    case Break::source:
      step.src_offset = offset;
      return does.reads_src;
    case Break::destination:
      step.dst_offset = offset;
      return does.writes_dst;
    case Break::type:
      if (other.count(step.type) == 0) return false;
      step.type = other.at(step.type);
      return true;
    case Break::copies_to_itself:
      step.type = Op::copy;
      step.dst_buffer = step.src_buffer;
      step.dst_offset = step.src_offset;
      return !does.sends && !does.receives && does.reads_src;
  }
  return false;
}

TEST(Blame, NamesTheStepThatWasBroken) {
  int wrong = 0;
  int named = 0;
  int named_type = 0;
  int wrong_type = 0;
  for (const Algorithm& correct : {ring_all_reduce(4), all_pairs_all_reduce(4, 2), recursive_doubling_all_gather(8),
                                   two_step_all_to_all(2, 3), chain_broadcast(4, 3), ring_reduce_scatter(5)}) {
    std::mt19937_64 random(3);
    for (int n = 0; n < 300; ++n) {
      Algorithm algorithm = correct;
      const auto gpu = static_cast<std::int32_t>(random() % algorithm.gpus.size());
      std::vector<ThreadBlock>& blocks = algorithm.gpus[gpu].blocks;
      const auto block = static_cast<std::int32_t>(random() % blocks.size());
      std::vector<Step>& steps = blocks[block].steps;
      const auto step = static_cast<std::int32_t>(random() % steps.size());
      const auto how = static_cast<Break>(random() % 4);
      if (!broken(algorithm, steps[step], how, random())) continue;
      config::Diagnostics diagnostics;
      if (!check_rules(algorithm, diagnostics)) continue;
      const Verdict verdict = check(algorithm);
      // With a race, more than one step may be at fault.
      if (verdict.deadlock.always() || verdict.races() > 0 || verdict.correct()) continue;
      const proof::Wrong& found = *verdict.patterns[0].result.first_wrong;
      const proof::StepAt at{gpu, block, step};
      const bool right = found.by == at || found.sender == at;
      ++wrong;
      named += right ? 1 : 0;
      wrong_type += how == Break::type ? 1 : 0;
      named_type += how == Break::type && right ? 1 : 0;
    }
  }
  std::printf("named %d of %d, of those with a wrong type %d of %d\n", named, wrong, named_type, wrong_type);
  EXPECT_GT(wrong, 500);
  EXPECT_EQ(named_type, wrong_type);
  EXPECT_GE(named * 100, wrong * 95);
}

}  // namespace
}  // namespace moire::msccl
