// Tests runs with a slow part or a late rank (`perturb`).
#include <gmock/gmock.h>

#include "tests/what_ifs/ran.hpp"

namespace moire::study {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* gemm = "gemm: {m: 2048, n: 2048, k: 2048}";
constexpr const char* ring = "all_reduce: {bytes_per_rank: 1 MiB, engine: cu, algorithm: ring, protocol: simple}";

TEST(Stragglers, NoneIsNone) {
  const Ran even = run("2x4xh200.yaml", ring);
  for (const char* nothing :
       {"perturb: {}\n", "perturb: {seed: 9, gpus: []}\n", "perturb: {start: [{delay: {value: 0 s}}]}\n"}) {
    const Ran same = run("2x4xh200.yaml", ring, nothing);
    ASSERT_EQ(same.errors, "");
    ASSERT_EQ(same.result.runs[0].metrics.size(), even.result.runs[0].metrics.size());
    for (std::size_t m = 0; m < even.result.runs[0].metrics.size(); ++m)
      EXPECT_EQ(same.result.runs[0].metrics[m].value, even.result.runs[0].metrics[m].value) << nothing;
  }
}

TEST(Stragglers, AllClocksLowAreTheClockOfTheFile) {
  for (const char* operation : {gemm, ring,
                                "embedding_all_to_all: {schedule: fused, tables_per_gpu: 2, global_batch: 512, "
                                "pooling: 8, dim: 64, in_flight: 8 KiB, fence: 1 us}"}) {
    const Ran slow = run("4xh200.yaml", operation, "perturb: {gpus: [{clock: {value: 0.5}}]}\n");
    const Ran file = run("4xh200.yaml", operation, "", {"system.node.gpu.compute.clock=0.99 GHz"});
    ASSERT_EQ(slow.errors + file.errors, "");
    EXPECT_NEAR(slow.time_us() / file.time_us(), 1, 1e-6) << operation;
    EXPECT_GT(slow.time_us(), 1.01 * run("4xh200.yaml", operation).time_us()) << operation;
  }
}

TEST(Stragglers, EverybodyLateIsLaterByThat) {
  const Ran even = run("2x4xh200.yaml", ring);
  const Ran late = run("2x4xh200.yaml", ring, "perturb: {start: [{delay: {value: 7 us}}]}\n");
  EXPECT_NEAR(late.time_us(), even.time_us() + 7, 1e-6) << late.errors;
  EXPECT_EQ(late.metric(0, "all_reduce_rank_wait_max_us"), even.metric(0, "all_reduce_rank_wait_max_us"));
}

TEST(Stragglers, OthersWaitForTheLateOne) {
  const Ran even = run("2x4xh200.yaml", ring);
  const Ran late = run("2x4xh200.yaml", ring, "perturb: {start: [{ranks: [3], delay: {value: 100 us}}]}\n");
  ASSERT_EQ(late.errors, "");
  EXPECT_EQ(late.metric(0, "all_reduce_rank_wait_min_us"), 0);
  EXPECT_NEAR(late.metric(0, "all_reduce_rank_wait_max_us"), 100, 1e-6);
  EXPECT_NEAR(late.metric(0, "all_reduce_rank_wait_mean_us"), 100 * 7 / 8.0, 1e-6);
  EXPECT_LE(late.time_us(), 1.02 * even.time_us() + 100);  // 2 %: tolerance for reordering (docs/explanation/laws.md)
  EXPECT_GT(late.time_us(), 100);
  // If each node runs an all-reduce of its own, only the ranks in the node of the late rank wait.
  const std::string groups = "all_reduce: {bytes_per_rank: 1 MiB, group: node}";
  const Ran own = run("2x4xh200.yaml", groups, "perturb: {start: [{ranks: [3], delay: {value: 100 us}}]}\n",
                      {"program.groups={node: {by: node}}"});
  ASSERT_EQ(own.errors, "");
  EXPECT_NEAR(own.metric(0, "all_reduce_rank_wait_mean_us"), 100 * 3 / 8.0, 1e-6);
}

TEST(Stragglers, SlowPartsAreFeltWhereTheyAreUsed) {
  const auto with = [](const std::string& what) { return run("2x4xh200.yaml", ring, "perturb: {" + what + "}\n"); };
  const double even = with("").time_us();
  for (const char* what :
       {"gpus: [{ranks: [5], clock: {value: 0.5}}]", "ports: [{ranks: [5], bandwidth: {value: 0.02}}]",
        "nics: [{nics: [0], bandwidth: {value: 0.1}}]", "nics: [{count: 8, bandwidth: {value: 0.1}}]"}) {
    const Ran slow = with(what);
    EXPECT_GT(slow.time_us(), 1.001 * even) << what << slow.errors;
    EXPECT_THAT(slow.result.notes, Not(Contains(HasSubstr("no effect")))) << what;
  }
}

TEST(Stragglers, SimGridsFlowsHaveSlowNics) {
  const std::string put = "all_to_all: {bytes_per_peer: 1 MiB, engine: nic}";
  const Sets flow = {"system.network.model=flow"};
  const Ran even = run("2x4xh200.yaml", put, "", flow);
  const Ran slow = run("2x4xh200.yaml", put, "perturb: {nics: [{nics: [1], bandwidth: {value: 0.25}}]}\n", flow);
  ASSERT_EQ(slow.errors, "");
  EXPECT_GT(slow.time_us(), 2 * even.time_us());
  EXPECT_THAT(slow.result.notes, IsEmpty());
}

TEST(Stragglers, WhatNothingUsesIsSaid) {
  const auto notes = [](const std::string& operation, const std::string& what) {
    return run("2x4xh200.yaml", operation, "perturb: {" + what + "}\n").result.notes;
  };
  EXPECT_THAT(notes(gemm, "nics: [{nics: [0], bandwidth: {value: 0.5}}]"),
              ElementsAre("perturb.nics: no effect, because those NICs carry nothing"));
  EXPECT_THAT(notes(gemm, "ports: [{ranks: [0], bandwidth: {value: 0.5}}]"),
              ElementsAre("perturb.ports: no effect, because their scale-up links carry nothing"));
  EXPECT_THAT(notes("delay: {time: 1 us}", "gpus: [{ranks: [0], clock: {value: 0.5}}]"),
              ElementsAre("perturb.gpus: no effect, because those GPUs run no kernel"));
  EXPECT_THAT(notes("gemm: {m: 256, n: 256, k: 256, where: rank > 3}", "start: [{ranks: [0], delay: {value: 1 us}}]"),
              ElementsAre("perturb.start: no effect, because those ranks run nothing"));
  EXPECT_THAT(notes("gemm: {m: 256, n: 256, k: 256, where: rank > 3}", "start: [{ranks: [4], delay: {value: 1 us}}]"),
              IsEmpty());
}

TEST(Stragglers, FoldWhereBlocksAreAlike) {
  const auto fold = [](const std::string& what) {
    const Ran ran =
        run("128x8xh100_rail.yaml", "all_reduce: {bytes_per_rank: 1 MiB, algorithm: ring, engine: cu}",
            "perturb: {" + what + "}\n", {"system.nodes=8", "system.fabric.rail_fat_tree.nodes_per_leaf=8"});
    EXPECT_EQ(ran.errors, "");
    return ran.result.runs.at(0).fold;
  };
  EXPECT_GT(fold("").images, 1U);
  EXPECT_EQ(fold("gpus: [{ranks: [5], clock: {value: 0.9}}]").images, 1U);
  EXPECT_THAT(fold("gpus: [{ranks: [5], clock: {value: 0.9}}]").why_not, HasSubstr("perturb.gpus"));
  EXPECT_EQ(fold("gpus: [{nodes: [0, 4], clock: {value: 0.9}}]").images, 2U);
}

TEST(Stragglers, TheSlowDownIsAgainstTheSameWithoutThem) {
  const Ran ran =
      run("2x4xh200.yaml", ring,
          "perturb: {seed: 3}\nvariants: {even: {}, slow: {perturb.gpus: [{count: 1, clock: {value: 0.5}}]}}\n"
          "compare: {to: even, unperturbed: true}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_EQ(ran.metric(0, "slow_down_percent"), 0);
  EXPECT_EQ(ran.metric(1, "unperturbed_us"), ran.time_us(0));
  EXPECT_NEAR(ran.metric(1, "slow_down_percent"), 100 * (ran.time_us(1) / ran.time_us(0) - 1), 1e-5);
  EXPECT_NEAR(ran.result.comparison[1]->speedup, ran.time_us(0) / ran.time_us(1), 1e-9);
}

}  // namespace
}  // namespace moire::study
