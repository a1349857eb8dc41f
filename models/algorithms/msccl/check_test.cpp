#include "models/algorithms/msccl/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/algorithms/msccl/rules.hpp"
#include "tests/support/example_algorithms.hpp"

namespace moire::msccl {
namespace {

using proof::Contribution;
using proof::Fault;
using proof::StepAt;
using proof::Wrong;

using ::testing::HasSubstr;
constexpr std::uint64_t MiB = 1 << 20;

Verdict judged(const Algorithm& algorithm, const CheckOptions& options = {}) {
  config::Diagnostics diagnostics;
  EXPECT_TRUE(check_rules(algorithm, diagnostics)) << diagnostics.str();
  return check(algorithm, options);
}
std::string faults(const Algorithm& algorithm, const CheckOptions& options = {}) {
  config::Diagnostics diagnostics;
  report(algorithm, judged(algorithm, options), diagnostics);
  return diagnostics.str();
}

// Returns an all-gather in which each of two GPUs makes `sends` sends of `per_send` chunks, and then as many receives.
Algorithm exchange(int sends, int per_send, Protocol protocol) {
  Maker maker(Collective::all_gather, protocol, 2, 2 * sends * per_send, true);
  maker.buffers(0, 2 * sends * per_send, 0);
  const int part = sends * per_send;
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::int32_t block = maker.block(gpu, 1 - gpu, 1 - gpu);
    for (int n = 0; n < sends; ++n) maker.step(gpu, block, Op::send, o(gpu * part + n * per_send), o(0), per_send);
    for (int n = 0; n < sends; ++n)
      maker.step(gpu, block, Op::recv, o(0), o((1 - gpu) * part + n * per_send), per_send);
  }
  return maker.made;
}

TEST(Check, CountsWhatThereIs) {
  const Counts counts = judged(ring_all_reduce(4)).counts;
  EXPECT_EQ(counts.blocks, 4U);
  EXPECT_EQ(counts.most_blocks, 1U);
  EXPECT_EQ(counts.steps, 28U);
  EXPECT_EQ(counts.most_steps, 7U);
  EXPECT_EQ(counts.connections, 4U);
  EXPECT_EQ(counts.types,
            (std::map<std::string, std::uint64_t>{{"s", 4}, {"rrs", 8}, {"rrcs", 4}, {"rcs", 8}, {"r", 4}}));
}

TEST(Deadlock, AsManySendsAsFit) {
  for (const auto& [protocol, fit] : {std::pair(Protocol::simple, 2), {Protocol::ll, 8}, {Protocol::ll128, 8}}) {
    EXPECT_TRUE(judged(exchange(fit, 1, protocol)).deadlock.never());
    const Verdict more = judged(exchange(fit + 1, 1, protocol));
    EXPECT_TRUE(more.deadlock.always());
    EXPECT_EQ(more.deadlock.above_bytes, 0U);
    EXPECT_TRUE(more.patterns.empty());
  }
}

// Each of two GPUs sends its 8 chunks (half of the 16) in one step. With M chunks per call, the step makes ceil(8 / M)
// calls. A connection holds 2 calls, so the algorithm hangs unless M is at least 4.
TEST(Deadlock, DependsOnSize) {
  const Algorithm algorithm = exchange(1, 8, Protocol::simple);
  const Deadlock deadlock = judged(algorithm).deadlock;
  EXPECT_EQ(deadlock.chunks_per_call_le, 3U);
  EXPECT_EQ(deadlock.above_bytes, 16 * (2 * MiB / 4));
  EXPECT_FALSE(judged(algorithm, {8 * MiB, {}}).hangs_at_bytes);
  EXPECT_TRUE(judged(algorithm, {8 * MiB + 1, {}}).hangs_at_bytes);
  EXPECT_TRUE(judged(algorithm, {1024 * MiB, {}}).hangs_at_bytes);
  EXPECT_TRUE(judged(algorithm).accepted(algorithm));
  EXPECT_FALSE(judged(algorithm, {16 * MiB, {}}).accepted(algorithm));
}

TEST(Deadlock, DependsOnTheFifo) {
  const Algorithm algorithm = exchange(1, 8, Protocol::simple);
  EXPECT_EQ(judged(algorithm, {{}, Fifo{1 * MiB, 2}}).deadlock.above_bytes, 4 * MiB);
  EXPECT_EQ(judged(algorithm, {{}, Fifo{2 * MiB, 4}}).deadlock.chunks_per_call_le, 1U);
  EXPECT_TRUE(judged(algorithm, {{}, Fifo{2 * MiB, 8}}).deadlock.never());
}

TEST(Deadlock, NamesTheCycleAndTheFullConnection) {
  const std::string text = faults(exchange(1, 8, Protocol::simple), {16 * MiB, {}});
  EXPECT_THAT(text, HasSubstr("deadlock at 16 MiB: it hangs above 8 MiB"));
  EXPECT_THAT(text,
              HasSubstr("gpu 0, tb 0, step 0, call 3 of 4, waits for gpu 1, tb 0 to receive: connection 0 -> 1 on "
                        "channel 0 is full (2 calls)"));
  EXPECT_THAT(text, HasSubstr("connection 1 -> 0 on channel 0 is full"));
}

TEST(Deadlock, ReceivingFirstHangsAtEverySize) {
  Algorithm algorithm = ring_all_reduce(3);
  for (Gpu& gpu : algorithm.gpus) std::swap(gpu.blocks[0].steps[0], gpu.blocks[0].steps[1]);
  const Verdict verdict = judged(algorithm);
  EXPECT_TRUE(verdict.deadlock.always());
  EXPECT_EQ(verdict.deadlock.cycle.size(), 3U);
  EXPECT_EQ(verdict.deadlock.cycle[0].kind, WaitKind::data);
  EXPECT_THAT(faults(algorithm),
              HasSubstr("gpu 0, tb 0, step 0 waits for data of gpu 2, tb 0: connection 2 -> 0 on channel 0 is empty"));
}

TEST(Deadlock, DependenciesInACircle) {
  Maker maker(Collective::custom, Protocol::ll, 1, 4, false);
  maker.buffers(4, 4, 0);
  // Maker::block() returns a new block only if the arguments are new, so the two blocks get different channels. Neither
  // block has a connection, so the channels have no effect.
  const Made a = maker.step(0, maker.block(0, none, none, 0), Op::copy, i(0), o(0));
  const Made b = maker.step(0, maker.block(0, none, none, 1), Op::copy, i(1), o(1));
  maker.wait(a, b);
  maker.wait(b, a);
  const Deadlock deadlock = judged(maker.made).deadlock;
  EXPECT_TRUE(deadlock.always());
  ASSERT_EQ(deadlock.cycle.size(), 2U);
  EXPECT_EQ(deadlock.cycle[0].kind, WaitKind::dependency);
  EXPECT_EQ(deadlock.cycle[0].on_block, 1);
}

TEST(Result, EveryExampleIsCorrect) {
  for (const Algorithm& algorithm : {ring_all_reduce(5), ring_all_reduce(2), all_pairs_all_reduce(4, 3),
                                     recursive_doubling_all_gather(16, Protocol::ll128), two_step_all_to_all(3, 2),
                                     chain_broadcast(5, 4), ring_reduce_scatter(6)}) {
    EXPECT_EQ(faults(algorithm), "");
    EXPECT_TRUE(judged(algorithm).accepted(algorithm));
  }
}

TEST(Result, ALostSumIsFoundWhereItIsLost) {
  Algorithm algorithm = ring_all_reduce(4);
  algorithm.gpus[3].blocks[0].steps[3].type = Op::recv_copy_send;  // was rrcs
  const Verdict verdict = judged(algorithm);
  ASSERT_TRUE(verdict.patterns[0].result.first_wrong);
  const Wrong& wrong = *verdict.patterns[0].result.first_wrong;
  EXPECT_EQ(verdict.patterns[0].result.wrong_chunks, 4U);
  EXPECT_EQ(wrong.gpu, 0);
  EXPECT_EQ(wrong.chunk, 0);
  EXPECT_EQ(wrong.fault, Fault::overwrote);
  EXPECT_EQ(wrong.by, (StepAt{3, 0, 3}));
  EXPECT_EQ(wrong.sender, (StepAt{2, 0, 2}));
  EXPECT_EQ(wrong.found, (std::vector<Contribution>{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}));
}

TEST(Result, ASumOfTheWrongChunkIsFoundWhereItIsMade) {
  Algorithm algorithm = ring_all_reduce(4);
  Step& step = algorithm.gpus[2].blocks[0].steps[1];
  step.src_offset = (step.src_offset + 1) % 4;
  const Wrong wrong = *judged(algorithm).patterns[0].result.first_wrong;
  EXPECT_EQ(wrong.fault, Fault::added_wrongly);
  EXPECT_EQ(wrong.by, (StepAt{2, 0, 1}));
}

TEST(Result, WhatIsAddedTwiceIsCounted) {
  Algorithm algorithm = all_pairs_all_reduce(3, 1);
  // The block of GPU 0 that adds the parts of its peers adds the first of them twice.
  ThreadBlock& adder = algorithm.gpus[0].blocks[2];
  adder.steps[1].src_offset = adder.steps[0].src_offset;
  const Wrong wrong = *judged(algorithm).patterns[0].result.first_wrong;
  EXPECT_EQ(wrong.fault, Fault::added_wrongly);
  EXPECT_EQ(wrong.by, (StepAt{0, 2, 1}));
  EXPECT_EQ(wrong.found, (std::vector<Contribution>{{0, 0, 1}, {1, 0, 2}}));
}

TEST(Result, TheRightValueInTheWrongPlace) {
  Algorithm algorithm = ring_all_reduce(4);
  algorithm.gpus[1].blocks[0].steps[6].dst_offset = 0;  // was chunk 3
  const Wrong wrong = *judged(algorithm).patterns[0].result.first_wrong;
  EXPECT_EQ(wrong.gpu, 1);
  EXPECT_EQ(wrong.fault, Fault::wrong_place);
  EXPECT_EQ(wrong.by, (StepAt{1, 0, 6}));
}

TEST(Result, WhatNobodyWroteIsNotRead) {
  Algorithm algorithm = chain_broadcast(3, 2);
  algorithm.gpus[0].blocks[0].steps[1].src_buffer = Buffer::output;
  algorithm.gpus[0].blocks[1].steps.clear();
  const proof::Result result = judged(algorithm).patterns[0].result;
  EXPECT_EQ(result.unwritten_reads, 1U);
  EXPECT_EQ(result.first_unwritten->at, (StepAt{0, 0, 1}));
  EXPECT_THAT(faults(algorithm),
              HasSubstr("gpu 0, tb 0, step 1 reads o[1], which no step wrote before (out of place)"));
  EXPECT_THAT(faults(algorithm),
              HasSubstr("output chunk 0 of gpu 0 must hold i[0] of gpu 0 (4 chunks are wrong); no step writes it"));
}

// The algorithm gives the right result in place. Out of place, it writes nothing to the output, so it is wrong.
TEST(Result, BothPlacesAreJudged) {
  Algorithm algorithm = ring_all_reduce(3);
  algorithm.out_of_place = true;
  const Verdict verdict = judged(algorithm);
  ASSERT_EQ(verdict.patterns.size(), 2U);
  EXPECT_EQ(verdict.patterns[0].pattern, CallPattern::in_place);
  EXPECT_TRUE(verdict.patterns[0].result.correct());
  EXPECT_FALSE(verdict.patterns[1].result.correct());
  EXPECT_FALSE(verdict.accepted(algorithm));
}

// In place, the input of an all-gather is a part of the output, and the output of a reduce-scatter is a part of the
// input.
TEST(Result, PlacesOverlapAsTheCollectiveSays) {
  Algorithm gather = recursive_doubling_all_gather(4);
  for (std::int32_t gpu = 0; gpu < 4; ++gpu) {
    for (ThreadBlock& block : gather.gpus[gpu].blocks) {
      Step& first = block.steps[0];
      if (first.type != Op::send || first.src_offset != gpu || first.count != 1) continue;
      first.src_buffer = Buffer::input;
      first.src_offset = 0;
    }
    gather.gpus[gpu].input_chunks = 1;
  }
  EXPECT_EQ(faults(gather), "");
  Algorithm scatter = ring_reduce_scatter(4);
  scatter.in_place = true;
  scatter.out_of_place = false;
  EXPECT_EQ(faults(scatter), "");
  scatter.gpus[2].blocks[0].steps[3].dst_buffer = Buffer::input;  // i(0) instead of GPU 2's part
  EXPECT_THAT(faults(scatter), HasSubstr("wrong result in place: output chunk 0 of gpu 2"));
}

TEST(Races, AMissingDependency) {
  Algorithm algorithm = all_pairs_all_reduce(3, 1);
  Step& adds = algorithm.gpus[1].blocks[2].steps[0];
  adds.depends_block = adds.depends_step = none;
  const Verdict verdict = judged(algorithm);
  EXPECT_EQ(verdict.races(), 1U);
  EXPECT_FALSE(verdict.accepted(algorithm));
  const proof::Race race = verdict.patterns[0].races.told.at(0);
  EXPECT_EQ(race.first.at, (StepAt{1, 0, 1}));
  EXPECT_TRUE(race.first.writes);
  EXPECT_EQ(race.first.buffer, Buffer::scratch);
  EXPECT_EQ(race.first.chunk, 0);
  EXPECT_EQ(race.second.at, (StepAt{1, 2, 0}));
  EXPECT_FALSE(race.second.writes);
}

// If the collective defines no result, a race is only a warning.
TEST(Races, OfCustomCollectivesAreWarnings) {
  Maker maker(Collective::custom, Protocol::ll, 2, 2, true);
  maker.buffers(2, 0, 0);
  for (std::int32_t gpu = 0; gpu < 2; ++gpu) {
    maker.step(gpu, maker.block(gpu, 1 - gpu, none), Op::send, i(0), i(0), 2);
    maker.step(gpu, maker.block(gpu, none, 1 - gpu), Op::recv, i(0), i(0), 2);
  }
  const Verdict verdict = judged(maker.made);
  EXPECT_EQ(verdict.races(), 4U);
  EXPECT_TRUE(verdict.accepted(maker.made));
  config::Diagnostics diagnostics;
  report(maker.made, verdict, diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_THAT(diagnostics.warnings(), HasSubstr("race in place: gpu 0, tb "));
  EXPECT_THAT(diagnostics.warnings(), HasSubstr("on 2 chunks (4 races in all)"));
}

TEST(Races, ACopyOntoItselfDependsOnTheSize) {
  Maker maker(Collective::custom, Protocol::simple, 1, 4, false);
  maker.buffers(4, 4, 0);
  const std::int32_t block = maker.block(0, none, none);
  maker.step(0, block, Op::copy, i(0), o(0), 3);
  maker.step(0, block, Op::copy, o(0), o(1), 3);
  const proof::Races races = judged(maker.made).patterns[0].races;
  EXPECT_EQ(races.count, 2U);  // o(1) and o(2) are read and written in one call
  EXPECT_GE(races.cells_per_call, 3U);
  EXPECT_EQ(races.told.at(0).first.at, races.told.at(0).second.at);
}

// GPU 1 sends the chunks i(0) and i(1) of GPU 0 back, and GPU 0 writes them to i(1) and i(2). With one chunk per call,
// the first chunk may come back before GPU 0 has read i(1) for its send.
TEST(Races, ThatOnlyFewChunksACallShow) {
  Maker maker(Collective::custom, Protocol::ll, 2, 4, false);
  maker.buffers(4, 4, 4);
  maker.step(0, maker.block(0, 1, none), Op::send, i(0), s(0), 2);
  maker.step(1, maker.block(1, 0, 0), Op::recv_copy_send, i(0), s(0), 2);
  maker.step(0, maker.block(0, none, 1), Op::recv, i(0), i(1), 2);
  const proof::Races races = judged(maker.made).patterns[0].races;
  EXPECT_EQ(races.count, 1U);  // the race on i(1)
  EXPECT_EQ(races.cells_per_call, 1U);
}

// A second check of the same algorithm and FIFO reuses the first proof.
TEST(Proved, IsMadeOnce) {
  const Algorithm algorithm = ring_all_reduce(4);
  const Fifo fifo = default_fifo(algorithm.protocol);
  const auto first = proved(algorithm, fifo);
  EXPECT_TRUE(first->accepted(algorithm));
  EXPECT_EQ(proved(Algorithm(algorithm), fifo), first);
  EXPECT_NE(proved(algorithm, {fifo.call_bytes, fifo.calls + 1}), first);
  Algorithm other = algorithm;
  other.gpus[1].blocks[0].steps[0].src_offset = 0;
  EXPECT_FALSE(proved(other, fifo)->accepted(other));
}

}  // namespace
}  // namespace moire::msccl
