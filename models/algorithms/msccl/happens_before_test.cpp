#include "models/algorithms/proof/happens_before.hpp"

#include <gtest/gtest.h>

#include "models/algorithms/msccl/lower.hpp"
#include "tests/support/example_algorithms.hpp"

namespace moire::msccl {
namespace {

// Returns an all-reduce of n GPUs in which one block of a GPU sends a chunk and another block receives the sum into the
// same chunk. Only the path through the other GPU orders the read and the write.
Algorithm over_the_other(std::int32_t n, bool with_dependency) {
  Maker maker(Collective::all_reduce, Protocol::ll, n, n, true);
  maker.buffers(n, 0, n);
  for (std::int32_t gpu = 0; gpu < n; ++gpu) {
    std::vector<Made> came(static_cast<std::size_t>(n));
    for (std::int32_t peer = 0; peer < n; ++peer) {
      if (peer == gpu) continue;
      maker.step(gpu, maker.block(gpu, peer, none), Op::send, i(peer), s(0));
      came[peer] = maker.step(gpu, maker.block(gpu, none, peer), Op::recv, i(0), s(peer));
    }
    Made last;
    for (std::int32_t peer = 0; peer < n; ++peer) {
      if (peer != gpu)
        last = maker.step(gpu, maker.block(gpu, none, none), Op::reduce, s(peer), i(gpu), 1, {came[peer]});
    }
    for (std::int32_t peer = 0; peer < n; ++peer) {
      if (peer == gpu) continue;
      maker.step(gpu, maker.block(gpu, peer, none, 1), Op::send, i(gpu), i(0), 1,
                 with_dependency ? std::vector<Made>{last} : std::vector<Made>{});
      maker.step(gpu, maker.block(gpu, none, peer, 1), Op::recv, i(0), i(peer));
    }
  }
  return maker.made;
}

struct Found {
  std::size_t conflicts = 0;
  std::vector<bool> searched;
  std::vector<bool> walked;
};
Found find(const Algorithm& algorithm) {
  const proof::Program program = program_of(algorithm);
  const std::uint32_t slots = default_fifo(algorithm.protocol).calls;
  const proof::Schedule run = proof::schedule(program, 1, slots, true);
  EXPECT_TRUE(run.complete);
  const proof::Layout layout = layout_of(algorithm, CallPattern::in_place);
  const auto conflicts = proof::find_conflicts(program, layout, run.order, 1);
  return {conflicts.size(), proof::are_ordered(program, conflicts, run.order, 1, slots, 1'000'000),
          proof::are_ordered(program, conflicts, run.order, 1, slots, 0)};
}

TEST(HappensBefore, OrderOverAnotherGpuIsFoundBothWays) {
  // 3 GPUs have 6 conflicts. 12 GPUs have 132 conflicts, whose first accesses are in more than 64 blocks, so one walk
  // with vector clocks of 64 entries is not enough.
  for (const std::int32_t n : {3, 12}) {
    const Found found = find(over_the_other(n, true));
    EXPECT_EQ(found.conflicts, static_cast<std::size_t>(n * (n - 1)));
    EXPECT_EQ(found.searched, std::vector<bool>(found.conflicts, true));
    EXPECT_EQ(found.walked, found.searched);
  }
}

TEST(HappensBefore, MissingOrderIsMissedBothWays) {
  for (const std::int32_t n : {3, 12}) {
    const Found found = find(over_the_other(n, false));
    EXPECT_GT(found.conflicts, static_cast<std::size_t>(n * (n - 1)));
    EXPECT_EQ(found.searched, std::vector<bool>(found.conflicts, false));
    EXPECT_EQ(found.walked, found.searched);
  }
}

// A block of GPU 1 reads s(0) and then receives twice from GPU 0. After its second send, GPU 0 sends data on another
// channel, and another block of GPU 1 writes these data to s(0). If a connection holds one call, the second send waits
// for the first receive and therefore for the read, so the write comes after the read. If the connection holds more
// calls, nothing orders the read and the write.
TEST(HappensBefore, CreditsOrder) {
  for (const std::uint32_t slots : {1U, 2U, 8U}) {
    Maker maker(Collective::custom, Protocol::simple, 2, 4, false);
    maker.buffers(4, 4, 4);
    const std::int32_t receiver = maker.block(1, none, 0);
    maker.step(1, receiver, Op::copy, s(0), o(0));
    maker.step(1, receiver, Op::recv, i(0), o(1));
    maker.step(1, receiver, Op::recv, i(0), o(2));
    const std::int32_t sender = maker.block(0, 1, none);
    maker.step(0, sender, Op::send, i(0), o(0));
    const Made second = maker.step(0, sender, Op::send, i(1), o(0));
    maker.step(0, maker.block(0, 1, none, 1), Op::send, i(2), s(0), 1, {second});
    maker.step(1, maker.block(1, none, 0, 1), Op::recv, i(0), s(0));
    const proof::Program program = program_of(maker.made);
    const proof::Schedule run = proof::schedule(program, 1, slots, true);
    ASSERT_TRUE(run.complete);
    const proof::Layout layout = layout_of(maker.made, CallPattern::out_of_place);
    const auto conflicts = proof::find_conflicts(program, layout, run.order, 1);
    ASSERT_EQ(conflicts.size(), 1U);
    // If the schedule put the write first, nothing could order it before the read.
    const bool read_first = !conflicts[0].first.writes;
    const bool expected = slots == 1;
    if (expected) {
      EXPECT_TRUE(read_first);
    }
    EXPECT_EQ(proof::are_ordered(program, conflicts, run.order, 1, slots, 1000), std::vector<bool>{expected});
    EXPECT_EQ(proof::are_ordered(program, conflicts, run.order, 1, slots, 0), std::vector<bool>{expected});
  }
}

}  // namespace
}  // namespace moire::msccl
