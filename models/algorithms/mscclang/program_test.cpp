// Tests the language: the meaning of programs, and the errors of programs that have no meaning.
#include "models/algorithms/mscclang/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/mscclang/compile.hpp"

namespace moire::mscclang {
namespace {

using ir::Collective;
using ir::Op;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Options pair_of(std::int32_t chunks = 2) { return {.name = "pair", .ranks = 2, .chunk_factor = chunks}; }

template <class Act>
std::string error_of(Act&& act) {
  try {
    act();
  } catch (const ProgramError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Op> types(const msccl::ThreadBlock& block) {
  std::vector<Op> all;
  for (const msccl::Step& step : block.steps) all.push_back(step.type);
  return all;
}

TEST(Program, CheckNamesTheFirstChunkThatIsWrong) {
  Program p(pair_of(1));
  EXPECT_EQ(p.check(), "rank 0 output[0] holds rank 0 [0] instead of the sum of [0] over all ranks");
  p.chunk(0, input, 0).reduce(p.chunk(1, input, 0)).copy(1);
  EXPECT_EQ(p.check(), std::nullopt);
}

TEST(Program, ScratchGrowsBehindWhatItHolds) {
  Program p(pair_of());
  const Buffer s = p.scratch("s");
  EXPECT_EQ(p.chunk(0, input, 0).copy(1, s).index(), 0);
  EXPECT_EQ(p.chunk(0, input, 0, 2).copy(1, s).index(), 1);
  EXPECT_EQ(p.length(1, s), 3);
  EXPECT_EQ(p.length(0, s), 0);
}

TEST(Program, InPlaceInputAndOutputAreOneBuffer) {
  Program p({.name = "p", .collective = Collective::all_gather, .ranks = 2, .chunk_factor = 2});
  const Chunk own = p.chunk(1, input, 1);
  EXPECT_EQ(own.buffer(), output);
  EXPECT_EQ(own.index(), 3);
}

TEST(Program, SplitAndGroupKeepTheChunks) {
  Program p(pair_of(6));
  const auto parts = p.chunk(0, input, 0, 6).split(3);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].index(), 2);
  EXPECT_EQ(parts[1].count(), 2);
  const Chunk both = parts[2].group(parts[1]);
  EXPECT_EQ(both.index(), 2);
  EXPECT_EQ(both.count(), 4);
}

TEST(ProgramErrors, NameTheStatement) {
  Program p(pair_of());
  const auto here = HasSubstr("program_test.cpp:");
  EXPECT_THAT(error_of([&] { p.chunk(0, input, 1, 2); }), AllOf(here, HasSubstr("rank 0 input[1..2] lies outside")));
  EXPECT_THAT(error_of([&] { p.chunk(2, input, 0); }),
              AllOf(here, HasSubstr("rank 2 is used, but the program has 2 ranks")));
  EXPECT_THAT(error_of([&] { p.chunk(0, p.scratch("s"), 0); }),
              AllOf(here, HasSubstr("rank 0 's'[0] is read, but nothing was written there")));
  EXPECT_THAT(error_of([&] { p.chunk(0, input, 0, 2).split(3); }), here);
  EXPECT_THAT(error_of([&] { p.chunk(0, input, 0).reduce(p.chunk(1, input, 0, 2)); }),
              AllOf(here, HasSubstr("differ in length")));
  EXPECT_THAT(error_of([&] { p.chunk(0, input, 0).copy(1, {.channel = 32}); }), AllOf(here, HasSubstr("channel 32")));
}

TEST(ProgramErrors, ChunksThatWereOverwrittenAreNotUsed) {
  Program p(pair_of());
  const Chunk before = p.chunk(1, input, 0);
  p.chunk(0, input, 0).copy(1);
  EXPECT_THAT(error_of([&] { before.copy(0); }),
              AllOf(HasSubstr("rank 1 input[0] is used through a reference from before it was overwritten by the "
                              "program_test.cpp:"),
                    HasSubstr("copy of rank 0 input[0] to rank 1 input[0]")));
}

TEST(Program, EncodedChunksAreForwardedAndDecoded) {
  Program p({.name = "p", .collective = Collective::broadcast, .ranks = 3, .in_place = false});
  const Buffer s = p.scratch("s");
  p.chunk(0, input, 0).copy(0, output, 0);
  Chunk chunk = p.chunk(0, input, 0).encode(s);
  EXPECT_TRUE(p.is_encoded(chunk.place()));
  for (const std::int32_t r : {1, 2}) {
    chunk = chunk.copy(r, s, 0);
    chunk.decode(output, 0);
    EXPECT_TRUE(p.is_encoded(chunk.place()));
  }
  EXPECT_FALSE(p.is_encoded({2, output, 0}));
  EXPECT_EQ(p.check(), std::nullopt);
  const msccl::Algorithm made = compile(p);
  const msccl::Verdict verdict = msccl::check(made);
  EXPECT_TRUE(verdict.accepted(made));
  EXPECT_EQ(verdict.patterns.at(0).codings.passes, 1U);
  chunk.copy(2, output, 0);
  EXPECT_THAT(*p.check(), HasSubstr("rank 2 output[0] is encoded"));
}

TEST(ProgramErrors, EncodedChunksAreNotAdded) {
  Program p(pair_of());
  const Buffer s = p.scratch("s");
  const Chunk encoded = p.chunk(0, input, 0).encode(s);
  const auto here = HasSubstr("program_test.cpp:");
  EXPECT_THAT(error_of([&] { p.chunk(1, input, 0).reduce(encoded); }),
              AllOf(here, HasSubstr("rank 0 's'[0], which is encoded, is added; decode it first")));
  EXPECT_THAT(error_of([&] { encoded.encode(s); }), AllOf(here, HasSubstr("is encoded again; copy it as it is")));
  EXPECT_THAT(error_of([&] { p.chunk(0, input, 1).decode(s, 1); }),
              AllOf(here, HasSubstr("rank 0 input[1], which is not encoded, is decoded; copy it")));
  EXPECT_THAT(error_of([&] { encoded.decode(s, 0); }), AllOf(here, HasSubstr("is encoded or decoded over itself")));
  p.chunk(0, input, 1).copy(0, s, 1);
  EXPECT_THAT(error_of([&] { p.chunk(0, s, 0, 2).copy(1); }),
              AllOf(here, HasSubstr("rank 0 's'[1], which is not encoded, is copied together with others")));
}

TEST(ProgramErrors, BlockedInstancesNeedCollectivesWithoutPlaces) {
  Options options{.name = "p", .collective = Collective::all_to_all, .ranks = 2, .instances = 2};
  options.replication = Replication::blocked;
  EXPECT_THAT(error_of([&] { Program p(options); }), HasSubstr("use interleaved instances"));
}

TEST(ProgramErrors, ThreadBlocksHaveOnePeerADirection) {
  Options options{.name = "p", .ranks = 3, .chunk_factor = 3};
  options.blocks = Blocks::manual;
  Program p(options);
  p.chunk(0, input, 0).copy(1, {.send_block = 0, .recv_block = 0});
  p.chunk(0, input, 1).copy(2, {.send_block = 0, .recv_block = 0});
  EXPECT_THAT(error_of([&] { compile(p); }),
              AllOf(HasSubstr("copy of rank 0 input[1] to rank 2 input[1]: thread block 0 of rank 0 sends to rank 1"),
                    HasSubstr("so it cannot serve rank 2 too")));
}

TEST(ProgramErrors, TwoBlocksOnOneConnectionAreRefused) {
  Options options = pair_of();
  options.blocks = Blocks::manual;
  Program p(options);
  p.chunk(0, input, 0).copy(1, {.send_block = 0, .recv_block = 0, .channel = 0});
  p.chunk(0, input, 1).copy(1, {.send_block = 1, .recv_block = 1, .channel = 0});
  EXPECT_THAT(
      error_of([&] { compile(p); }),
      AllOf(HasSubstr("thread block 1 of rank 0 sends to rank 1 on channel 0, as thread block 0 does because of the"),
            HasSubstr("use that block or another channel")));
}

TEST(ProgramErrors, AThreadBlockHasOneChannel) {
  Options options = pair_of();
  options.blocks = Blocks::manual;
  Program p(options);
  p.chunk(0, input, 0).copy(1, {.send_block = 0, .recv_block = 0, .channel = 0});
  p.chunk(0, input, 1).copy(1, {.send_block = 0, .recv_block = 0, .channel = 1});
  EXPECT_THAT(error_of([&] { compile(p); }), HasSubstr("channel 1 is used on thread blocks that have channel 0"));
}

TEST(ProgramErrors, TooManyStepsAreToldWithARemedy) {
  Program p(pair_of(300));
  for (std::int32_t i = 0; i < 300; ++i) p.chunk(0, input, i).copy(1);
  EXPECT_THAT(error_of([&] { compile(p); }),
              AllOf(HasSubstr("has 300 steps, but the runtime takes 256"), HasSubstr(";")));
}

TEST(Compiler, UnnamedChannelsKeepBlocksApart) {
  Options options = pair_of();
  options.blocks = Blocks::manual;
  Program p(options);
  p.chunk(0, input, 0).copy(1, {.send_block = 0, .recv_block = 0});
  p.chunk(0, input, 1).copy(1, {.send_block = 1, .recv_block = 1});
  const msccl::Algorithm made = compile(p);
  EXPECT_EQ(made.channels, 2);
  ASSERT_EQ(made.gpus[0].blocks.size(), 2U);
}

TEST(Compiler, FusesWhatIsPassedOn) {
  Program p({.name = "p", .ranks = 3, .chunk_factor = 3});
  Chunk c = p.chunk(1, input, 0, 3).reduce(p.chunk(0, input, 0, 3));
  c = p.chunk(2, input, 0, 3).reduce(c);
  c.copy(0).copy(1);
  const msccl::Algorithm made = compile(p);
  ASSERT_EQ(made.gpus[0].blocks.size(), 1U);
  EXPECT_THAT(types(made.gpus[0].blocks[0]), ElementsAre(Op::send, Op::recv_copy_send));
  EXPECT_THAT(types(made.gpus[1].blocks[0]), ElementsAre(Op::recv_reduce_send, Op::recv));
  EXPECT_THAT(types(made.gpus[2].blocks[0]), ElementsAre(Op::recv_reduce_copy_send));
}

TEST(Compiler, KeepsASumThatIsReadAgain) {
  Program p({.name = "p", .ranks = 3, .chunk_factor = 1});
  const Chunk sum = p.chunk(1, input, 0).reduce(p.chunk(0, input, 0));
  p.chunk(2, input, 0).reduce(sum);
  sum.copy(0);
  const msccl::Algorithm made = compile(p);
  std::size_t kept = 0;
  for (const auto& block : made.gpus[1].blocks) {
    for (const Op type : types(block)) kept += type == Op::recv_reduce_copy_send ? 1 : 0;
  }
  EXPECT_EQ(kept, 1U);
}

TEST(Compiler, InstancesHaveChannelsAndBlocksOfTheirOwn) {
  for (const std::int32_t instances : {1, 2, 4}) {
    Options options = pair_of(1);
    options.instances = instances;
    Program p(options);
    p.chunk(0, input, 0).reduce(p.chunk(1, input, 0)).copy(1);
    const msccl::Algorithm made = compile(p);
    EXPECT_EQ(made.channels, instances);
    EXPECT_EQ(made.chunks, instances);
    EXPECT_EQ(made.gpus[1].blocks.size(), 2U * static_cast<std::size_t>(instances));
  }
}

TEST(Compiler, ParallelPartsShareOneOperation) {
  Program p(pair_of(1));
  {
    const auto parallel = p.parallelize(4);
    p.chunk(0, input, 0).copy(1);
  }
  const msccl::Algorithm made = compile(p);
  EXPECT_EQ(made.chunks, 4);
  ASSERT_EQ(made.gpus[0].blocks.size(), 4U);
  for (std::size_t b = 0; b < 4; ++b) {
    ASSERT_EQ(made.gpus[0].blocks[b].steps.size(), 1U);
    EXPECT_EQ(made.gpus[0].blocks[b].steps[0].src_offset, static_cast<std::int32_t>(b));
  }
}

TEST(Compiler, MessagesOfMoreChunksThanAStepTakesAreCut) {
  Program p(pair_of(100));
  p.chunk(0, input, 0, 100).copy(1);
  const msccl::Algorithm made = compile(p);
  ASSERT_EQ(made.gpus[0].blocks[0].steps.size(), 2U);
  EXPECT_EQ(made.gpus[0].blocks[0].steps[0].count, 50);
  EXPECT_EQ(made.gpus[0].blocks[0].steps[1].src_offset, 50);
}

TEST(Compiler, WaitsImpliedByOthersAreLeftOut) {
  // Rank 0 receives from rank 1 into a, copies a to b and sends b to rank 2. The send needs one wait, for the copy, so
  // no nop (a step that only waits) is necessary.
  Program p({.name = "p", .ranks = 3, .chunk_factor = 1});
  const Buffer a = p.scratch("a");
  const Buffer b = p.scratch("b");
  p.chunk(1, input, 0).copy(0, a).copy(0, b).copy(2, p.scratch("c"));
  const msccl::Algorithm made = compile(p);
  for (const auto& block : made.gpus[0].blocks) {
    for (const auto& step : block.steps) EXPECT_NE(step.type, Op::none);
  }
}

}  // namespace
}  // namespace moire::mscclang
