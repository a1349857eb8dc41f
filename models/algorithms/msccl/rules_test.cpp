#include "models/algorithms/msccl/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/example_algorithms.hpp"

namespace moire::msccl {
namespace {

using ::testing::HasSubstr;

struct Judgement {
  bool kept = false;
  std::string errors;
  std::string warnings;
};
Judgement judge(const Algorithm& algorithm) {
  config::Diagnostics diagnostics;
  const bool kept = check_rules(algorithm, diagnostics);
  EXPECT_EQ(kept, diagnostics.ok());
  return {kept, diagnostics.str(), diagnostics.warnings()};
}

class Rules : public ::testing::Test {
 protected:
  ThreadBlock& block(int gpu) { return a_.gpus[gpu].blocks[0]; }
  Step& step(int gpu, int number) { return block(gpu).steps[number]; }
  void refused_for(const std::string& words) {
    const Judgement judgement = judge(a_);
    EXPECT_FALSE(judgement.kept);
    EXPECT_THAT(judgement.errors, HasSubstr(words));
  }
  void warned_of(const std::string& words) {
    const Judgement judgement = judge(a_);
    EXPECT_TRUE(judgement.kept) << judgement.errors;
    EXPECT_THAT(judgement.warnings, HasSubstr(words));
  }
  Algorithm a_ = ring_all_reduce(4);
};

TEST_F(Rules, AreKeptByExamples) {
  for (const Algorithm& a : {ring_all_reduce(4), all_pairs_all_reduce(3, 2), recursive_doubling_all_gather(8),
                             two_step_all_to_all(2, 3), chain_broadcast(3, 2), ring_reduce_scatter(4)}) {
    const Judgement judgement = judge(a);
    EXPECT_EQ(judgement.errors + judgement.warnings, "");
  }
}

TEST_F(Rules, SomebodyRunsIt) {
  a_.gpus.clear();
  refused_for("ngpus is 0");
}
TEST_F(Rules, ThereAreChunks) {
  a_.chunks = 0;
  refused_for("nchunksperloop is 0");
}
TEST_F(Rules, PartsAreEqual) {
  for (const Collective collective : {Collective::all_gather, Collective::all_to_all, Collective::reduce_scatter}) {
    a_.collective = collective;
    a_.chunks = 6;
    refused_for("nchunksperloop is 6 and not a multiple of ngpus, 4");
  }
  a_.collective = Collective::broadcast;
  EXPECT_TRUE(judge(a_).kept);
}
TEST_F(Rules, ChannelsExist) {
  a_.channels = 65;
  refused_for("nchannels is 65; write 1 to 64");
  a_.channels = 0;
  refused_for("nchannels is 0");
  a_.channels = 33;
  warned_of("nchannels is 33");
  a_.channels = 2;
  block(1).channel = 2;
  refused_for("gpu 1, tb 0: chan is 2, but nchannels is 2; write 0 to 1");
  block(1).channel = -1;
  refused_for("gpu 1, tb 0: chan is -1");
}
TEST_F(Rules, PeersAreOthers) {
  block(2).send = 2;
  refused_for("gpu 2, tb 0: send is the gpu itself");
  block(2).send = 4;
  refused_for("gpu 2, tb 0: send is 4, but there is no such peer; write -1 or a gpu from 0 to 3");
  block(2).send = -2;
  refused_for("gpu 2, tb 0: send is -2");
  block(2).send = none;
  refused_for("gpu 2, tb 0, step 0: type s sends, but the tb has send=\"-1\"");
  block(2).recv = none;
  refused_for("gpu 2, tb 0, step 1: type rrs receives, but the tb has recv=\"-1\"");
}
TEST_F(Rules, ChunksAreInRange) {
  step(1, 0).src_offset = 4;
  refused_for(
      "gpu 1, tb 0, step 0: out of range: it reads i[4..5), but there are only 4 chunks of i; keep srcoff + cnt at "
      "i_chunks or below");
  step(1, 0).src_offset = -1;
  refused_for("gpu 1, tb 0, step 0: srcoff is -1, a negative offset");
  step(1, 0).src_offset = 2'147'483'647;
  refused_for("it reads i[2147483647..2147483648)");
  step(1, 0).src_buffer = Buffer::scratch;
  step(1, 0).src_offset = 0;
  refused_for("it reads s[0..1), but there are only 0 chunks of s");
}
// Operands that a step does not use may have any value: compilers write there the position at the other end of the
// connection.
TEST_F(Rules, UnusedOperandsAreFree) {
  step(1, 0).dst_offset = -7;
  step(1, 6).src_offset = 99;
  EXPECT_TRUE(judge(a_).kept);
  step(1, 6).dst_offset = 99;
  refused_for("gpu 1, tb 0, step 6: out of range: it writes i[99..100)");
}
TEST_F(Rules, InPlaceBothNamesMeanOneBuffer) {
  step(1, 6).dst_buffer = Buffer::output;
  EXPECT_TRUE(judge(a_).kept);
  a_.out_of_place = true;
  refused_for("it writes o[3..4), but there are only 0 chunks of o");
}
TEST_F(Rules, CountsAreSmall) {
  step(0, 0).count = 0;
  refused_for("gpu 0, tb 0, step 0: cnt is 0; write 1 to 71 chunks per step");
  step(0, 0).count = 72;
  refused_for("gpu 0, tb 0, step 0: cnt is 72");
}
TEST_F(Rules, DependenciesExist) {
  step(0, 3).depends_block = 5;
  step(0, 3).depends_step = 0;
  refused_for("gpu 0, tb 0, step 3: its dependency is on tb 5, which does not exist");
  step(0, 3).depends_block = 0;
  step(0, 3).depends_step = 7;
  refused_for("its dependency is on step 7 of tb 0, which does not exist; that tb has the steps 0 to 6");
  step(0, 3).depends_step = 1;
  refused_for("its dependency is never met: from step 1 on, tb 0 has no step with hasdep=\"1\"");
  step(0, 2).has_dependents = true;
  warned_of("step 1 of tb 0 is a nop or has hasdep=\"0\", so the wait ends at a later step");
  step(0, 1).has_dependents = true;
  EXPECT_EQ(judge(a_).warnings, "");
}
TEST_F(Rules, NopsCarryDependencies) {
  Step nop;
  nop.type = Op::none;
  block(0).steps.insert(block(0).steps.begin() + 3, nop);
  refused_for("gpu 0, tb 0, step 3: the nop has no dependency");
  step(0, 0).has_dependents = true;
  step(0, 3).depends_block = 0;
  step(0, 3).depends_step = 0;
  refused_for("gpu 0, tb 0, step 4: the step follows a nop but has no dependency of its own");
  step(0, 4).depends_block = 0;
  step(0, 4).depends_step = 0;
  EXPECT_TRUE(judge(a_).kept);
  std::swap(step(0, 3), step(0, 4));
  for (int s = 4; s < 7; ++s) std::swap(step(0, s), step(0, s + 1));
  warned_of("gpu 0, tb 0, step 7: a nop at the end does nothing");
}
// The end of a nop satisfies no wait, even with hasdep="1".
TEST_F(Rules, NopsDoNotPublish) {
  Step nop;
  nop.type = Op::none;
  nop.has_dependents = true;
  nop.depends_block = 0;
  nop.depends_step = 0;
  step(0, 0).has_dependents = true;
  block(0).steps.push_back(nop);
  step(0, 6).depends_block = 0;
  step(0, 6).depends_step = 7;
  refused_for("its dependency is never met");
}
TEST_F(Rules, ConnectionsHaveOneBlockAtAnEnd) {
  a_.gpus[3].blocks.push_back(block(3));
  const std::string errors = judge(a_).errors;
  EXPECT_THAT(errors, HasSubstr("gpu 3, tb 1: tb 0 of this gpu has the same connection: send to gpu 0 on channel 0"));
  EXPECT_THAT(errors, HasSubstr("receive from gpu 2 on channel 0"));
}
TEST_F(Rules, BothEndsCountAlike) {
  a_ = ring_all_reduce(4, Protocol::ll, 2);
  step(1, 6).count = 1;
  refused_for(
      "gpu 0, tb 0, step 5: unmatched: it sends cnt=2 chunks and gpu 1, tb 0, step 6 receives cnt=1 "
      "(connection 0 -> 1 on channel 0, transfer 5)");
  block(1).steps.pop_back();
  refused_for(
      "gpu 0, tb 0, step 5: unmatched: it sends to gpu 1, but nothing is received: connection 0 -> 1 on channel 0 has "
      "6 sends and 5 receives");
  block(0).channel = 0;
  a_.channels = 2;
  block(2).channel = 1;
  refused_for(
      "gpu 2, tb 0, step 1: unmatched: it receives from gpu 1, but nothing is sent: connection 1 -> 2 on channel 1 has "
      "0 sends and 6 receives");
}
TEST_F(Rules, LongBlocksAreRefused) {
  a_ = chain_broadcast(2, 70);
  for (Gpu& gpu : a_.gpus) gpu.blocks.resize(1);
  warned_of("gpu 0, tb 0: 70 steps (and 1 more like it); default builds of the runtime take 64 per tb");
  a_ = chain_broadcast(2, 257);
  refused_for("gpu 0, tb 0: 257 steps; the runtime takes at most 256 steps per tb");
}
TEST_F(Rules, ManyBlocksAreRefused) {
  a_.gpus[0].blocks.resize(1025);
  refused_for("gpu 0: 1025 thread blocks; the runtime takes at most 1024 per gpu");
  a_ = two_step_all_to_all(1, 35);
  warned_of("gpu 0, tb 33: more than 32 thread blocks send on channel 0");
}
TEST_F(Rules, BuffersAreNotEndless) {
  for (Gpu& gpu : a_.gpus) gpu.scratch_chunks = 2'147'483'647;
  refused_for("the buffers of all gpus have");
  a_.gpus[1].scratch_chunks = -1;
  refused_for("gpu 1: the number of chunks is negative");
}
TEST_F(Rules, FusedReductionsHaveOneCount) {
  Maker maker(Collective::custom, Protocol::ll, 1, 4, false);
  maker.buffers(4, 4, 0);
  const std::int32_t b = maker.block(0, none, none);
  maker.step(0, b, Op::reduce, i(0), o(0), 2);
  const Made second = maker.step(0, b, Op::reduce, i(2), o(0), 1);
  a_ = maker.made;
  warned_of("gpu 0, tb 0, step 1: the runtime merges it with the re before it, whose cnt is 2 and not 1");
  maker.at({0, 0, 0}).has_dependents = true;
  maker.at(second).count = 1;
  EXPECT_EQ(judge(maker.made).warnings, "");
}
TEST_F(Rules, TheInputIsTheCallers) {
  a_ = chain_broadcast(2, 1);
  a_.gpus[1].input_chunks = 1;
  a_.gpus[1].blocks[0].steps[0].dst_buffer = Buffer::input;
  warned_of("gpu 1, tb 0, step 0: it writes to the input");
}
TEST_F(Rules, PeersKnowEachOther) {
  ThreadBlock idle;
  idle.send = 2;
  idle.channel = 0;
  a_.gpus[0].blocks.push_back(idle);
  warned_of("gpu 0, tb 1: it names gpu 2 as its peer on channel 0, but that gpu does not name it, and nothing is sent");
}
TEST_F(Rules, ItCanBeChosen) {
  a_.in_place = false;
  a_.out_of_place = false;
  for (Gpu& gpu : a_.gpus) gpu.output_chunks = 4;
  warned_of("neither inplace nor outofplace is 1");
  a_.in_place = true;
  a_.min_bytes = 2;
  a_.max_bytes = 1;
  warned_of("minBytes 2 is above maxBytes 1");
}
TEST_F(Rules, OnlyTheFirstErrorsAreTold) {
  for (Gpu& gpu : a_.gpus) {
    for (Step& s : gpu.blocks[0].steps) s.count = 0;
  }
  config::Diagnostics diagnostics;
  check_rules(a_, diagnostics);
  EXPECT_EQ(diagnostics.size(), 21U);
  EXPECT_THAT(diagnostics.str(), HasSubstr("8 more errors"));
}

}  // namespace
}  // namespace moire::msccl
