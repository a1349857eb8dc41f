#include "models/workload/collective/reuse.hpp"

#include <gtest/gtest.h>

#include "models/algorithms/msccl/lower.hpp"

namespace moire::collective {
namespace {

using ir::Buffer;
using ir::Op;

msccl::Step step(Op type, std::int32_t from, std::int32_t to, std::uint16_t count = 1) {
  return {.type = type,
          .src_buffer = Buffer::input,
          .dst_buffer = Buffer::output,
          .count = count,
          .src_offset = from,
          .dst_offset = to};
}

Reuse reuse(std::vector<msccl::ThreadBlock> blocks, bool in_place = false) {
  msccl::Algorithm made;
  made.collective = ir::Collective::custom;
  made.chunks = 8;
  made.in_place = in_place;
  made.out_of_place = !in_place;
  made.gpus.push_back({.input_chunks = 8, .output_chunks = 8, .blocks = std::move(blocks)});
  return reuse_of(made, 0, msccl::layout_of(made, msccl::call_patterns(made).front()));
}

using Again = std::vector<std::vector<bool>>;

TEST(Reuse, WhatAStepLoadsOrStoresIsUsedAgain) {
  const Reuse made = reuse({{.steps = {step(Op::send, 0, 0), step(Op::copy, 0, 1), step(Op::copy, 2, 3)}}});
  EXPECT_EQ(made.again, (Again{{false, true, false}}));
  EXPECT_EQ(made.chunks, 4) << "inputs 0 and 2, outputs 1 and 3";
  EXPECT_EQ(reuse({{.steps = {step(Op::recv, 0, 5), step(Op::send, 5, 0)}}}, true).again, (Again{{false, true}}))
      << "in place, output 5 is input 5";
  EXPECT_EQ(reuse({{.steps = {step(Op::recv, 0, 5), step(Op::send, 5, 0)}}}, false).again, (Again{{false, false}}));
}

TEST(Reuse, AllChunksOfAStepMustHaveBeenUsed) {
  const Reuse made = reuse({{.steps = {step(Op::send, 0, 0), step(Op::send, 0, 0, 2), step(Op::send, 0, 0, 2)}}});
  EXPECT_EQ(made.again, (Again{{false, false, true}}));
  // A sum loads its destination as well.
  const Reuse sum = reuse({{.steps = {step(Op::send, 0, 0), step(Op::reduce, 0, 1), step(Op::reduce, 0, 1)}}});
  EXPECT_EQ(sum.again, (Again{{false, false, true}}));
}

TEST(Reuse, TheThreadBlockThatIsAheadLoadsFromMemory) {
  const msccl::ThreadBlock sends{.steps = {step(Op::send, 0, 0)}};
  const msccl::ThreadBlock both{.steps = {step(Op::send, 0, 0), step(Op::copy, 0, 0)}};
  EXPECT_EQ(reuse({both, sends}).again, (Again{{true, true}, {false}})) << "the shorter one runs ahead";
  EXPECT_EQ(reuse({sends, sends}).again, (Again{{false}, {false}})) << "both load at the same time";
}

TEST(Reuse, AWaitDecidesWhichThreadBlockIsFirst) {
  msccl::ThreadBlock first{.steps = {step(Op::send, 1, 0), step(Op::send, 0, 0)}};
  msccl::ThreadBlock second{.steps = {step(Op::send, 0, 0)}};
  EXPECT_EQ(reuse({first, second}).again, (Again{{false, true}, {false}}));
  first.steps[1].has_dependents = true;
  second.steps[0].depends_block = 0;
  second.steps[0].depends_step = 1;
  EXPECT_EQ(reuse({first, second}).again, (Again{{false, false}, {true}}));
}

TEST(Reuse, ThreadBlocksThatWaitForEachOtherEnd) {
  msccl::ThreadBlock first{.steps = {step(Op::send, 0, 0), step(Op::send, 0, 0)}}, second = first;
  first.steps[0].depends_block = 1;
  second.steps[0].depends_block = 0;
  first.steps[0].depends_step = second.steps[0].depends_step = 0;
  EXPECT_EQ(reuse({first, second}).again, (Again{{false, false}, {false, false}}));
}

}  // namespace
}  // namespace moire::collective
