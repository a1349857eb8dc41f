#include "app/study/notes.hpp"

#include <gmock/gmock.h>

#include "tests/support/source_dir.hpp"

namespace moire::study {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Ran {
  StudyResult result;
  std::string errors;

  double metric(std::size_t run, std::string_view name) const {
    return value_of(result.runs.at(run).metrics, name).value_or(-1);
  }
};

Ran run(const std::string& system, const std::string& operation, const std::string& changes = "",
        const std::vector<std::string>& sets = {}) {
  const std::string text = "description: x\nsystem: " + support::source_dir() + "/configs/systems/" + system +
                           "\nprogram: {queues: {main: [{" + operation + "}]}}\n" + changes;
  Ran ran;
  config::Diagnostics diagnostics;
  Preparer preparer;
  auto overrides = config::parse_sets(sets, diagnostics);
  auto tree = config::load_text("s.yaml", text, {}, diagnostics);
  const auto study =
      prepare_runs(scenario_of("s.yaml", std::move(*tree), std::move(overrides), diagnostics), preparer, diagnostics);
  ran.errors = diagnostics.str();
  if (study) ran.result = run_study(*study, {});
  return ran;
}

constexpr const char* gemm = "gemm: {m: 4096, n: 4096, k: 4096}";

// 1.7, 1.98 and 2.5 GHz once took 1,255, 1,431 and 1,790 us: the matrix clock stayed.
TEST(WhatIf, AHigherClockNeverSlowsAGemm) {
  const Ran ran = run("4xh200.yaml", gemm, "sweep: {system.node.gpu.compute.clock: [1.7 GHz, 1.98 GHz, 2.5 GHz]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_GT(ran.metric(0, "time_us"), ran.metric(1, "time_us"));
  EXPECT_GT(ran.metric(1, "time_us"), ran.metric(2, "time_us"));
  EXPECT_EQ(ran.metric(1, "time_us"), run("4xh200.yaml", gemm).metric(0, "time_us")) << "the file's own clock";
  EXPECT_THAT(ran.result.notes,
              Contains("compute.matrix_clock 2.146 GHz instead of 1.7 GHz, with compute.clock (in run "
                       "'2.5 GHz')"));
}

TEST(WhatIf, APowerLimitThatStaysKeepsAGemmAsItIs) {
  const Ran ran = run("4xh200.yaml", gemm, "sweep: {system.node.gpu.compute.clock: [1.7 GHz, 1.98 GHz, 2.5 GHz]}\n",
                      {"system.node.gpu.compute.matrix_clock=1.7 GHz"});
  ASSERT_EQ(ran.errors, "");
  for (const std::size_t faster : {1, 2})  // clocks are kept in steps of 1 %, and loads go with the clock
    EXPECT_NEAR(ran.metric(faster, "time_us"), ran.metric(0, "time_us"), 0.015 * ran.metric(0, "time_us"));
}

TEST(WhatIf, MoreCusNeverSlowAGemm) {
  const Ran ran = run("8xmi300x.yaml", gemm, "sweep: {system.node.gpu.compute.groups.0.count: [6, 8, 10]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_GE(ran.metric(0, "time_us"), ran.metric(1, "time_us"));
  EXPECT_GE(ran.metric(1, "time_us"), ran.metric(2, "time_us"));
}

// Half of the GPUs once had 7 / 3 of the links a pair.
TEST(WhatIf, HalfOfAMeshHasTheLinksItHadBefore) {
  const Ran ran = run("8xmi300x.yaml", "all_to_all: {bytes_per_peer: 64 MiB, engine: dma, streams: per_peer}",
                      "sweep: {system.node.gpus: [4, 8]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_NEAR(ran.metric(0, "time_us"), ran.metric(1, "time_us"), 0.05 * ran.metric(1, "time_us"));
}

TEST(Notes, SayWhatKeepsAChangeBack) {
  const std::string put = "all_to_all: {bytes_per_peer: 1 MiB, engine: nic}";
  const Ran capped = run("2x4xh200.yaml", put, "", {"system.node.nic.bandwidth=800 Gb/s"});
  EXPECT_THAT(capped.result.notes,
              Contains(HasSubstr("node.nic.bandwidth 800 Gb/s: limited by node.nic.pcie_bandwidth ")))
      << capped.errors;
  const Ran free = run("2x4xh200.yaml", put, "", {"system.node.nic.bandwidth=200 Gb/s"});
  EXPECT_THAT(free.result.notes, IsEmpty());
}

TEST(Notes, SayWhatIsNotFelt) {
  const Ran ran = run("2x4xh200.yaml", gemm, "", {"system.node.nic.bandwidth=100 Gb/s"});
  EXPECT_THAT(ran.result.notes, ElementsAre("node.nic.bandwidth 100 Gb/s: not felt, puts is 0")) << ran.errors;
}

TEST(Notes, SayThatAnAxisHasNoEffect) {
  const Ran ran = run("4xh200.yaml", gemm,
                      "sweep: {system.node.gpu.port.link_bandwidth: [20 GB/s, 40 GB/s]}\n"
                      "variants: {base: {}, same: {program.order: concurrent}}\n");
  EXPECT_THAT(ran.result.notes,
              Contains(HasSubstr("axis 'system.node.gpu.port.link_bandwidth': '20 GB/s' and '40 GB/s' "
                                 "give the same results")))
      << ran.errors;
  EXPECT_THAT(ran.result.notes, Contains(HasSubstr("variants: 'base' and 'same' give the same results")));
  const Ran felt = run("4xh200.yaml", "all_gather: {bytes_per_rank: 8 MiB}",
                       "sweep: {system.node.gpu.port.link_bandwidth: [20 GB/s, 40 GB/s]}\n");
  EXPECT_THAT(felt.result.notes, Not(Contains(HasSubstr("give the same results")))) << felt.errors;
}

TEST(Bandwidth, OfCollectivesIsAsNcclTestsReckon) {
  const std::string bytes = "bytes_per_rank: 64 MiB";
  const Ran gather = run("4xh200.yaml", "all_gather: {" + bytes + "}");
  ASSERT_EQ(gather.errors, "");
  const double algbw = 4 * 64 * 1.048576e6 / gather.metric(0, "all_gather_us") / 1e3;
  EXPECT_NEAR(gather.metric(0, "all_gather_algbw_gb_per_s"), algbw, 1e-4);
  EXPECT_NEAR(gather.metric(0, "all_gather_busbw_gb_per_s"), algbw * 3 / 4, 1e-4);
  const Ran reduce = run("4xh200.yaml", "all_reduce: {" + bytes + "}");
  EXPECT_NEAR(reduce.metric(0, "all_reduce_busbw_gb_per_s") / reduce.metric(0, "all_reduce_algbw_gb_per_s"), 1.5, 1e-6);
  // Several copies are one collective.
  const Ran copies = run("4xh200.yaml", "all_to_all: {" + bytes + ", engine: dma}");
  EXPECT_NEAR(copies.metric(0, "all_to_all_busbw_gb_per_s") / copies.metric(0, "all_to_all_algbw_gb_per_s"), 0.75,
              1e-6);
  const double wire = 18 * 26.5625;
  for (const Ran* one : {&gather, &reduce, &copies}) {
    for (const Metric& metric : one->result.runs[0].metrics) {
      if (metric.is("<operation>_busbw_gb_per_s")) {
        EXPECT_LT(metric.value, wire);
        EXPECT_GT(metric.value, wire / 4);
      }
    }
    EXPECT_LE(one->metric(0, "rank_min_us"), one->metric(0, "rank_max_us"));
  }
}

TEST(WhatIf, AnOperatorTakesTheSystemsLibrary) {
  const std::string embedding =
      "embedding_all_to_all: {tables_per_gpu: 4, global_batch: 1024, pooling: 8, dim: 64, in_flight: 4 KiB, "
      "rows_per_table: 10000}";
  EXPECT_EQ(run("4xh200.yaml", embedding).errors, "");
}

TEST(Scenario, EmptyChangesAreNone) {
  const Ran ran = run("4xh200.yaml", gemm, "sweep: {}\nvariants: {}\ncompare: {}\n");
  EXPECT_EQ(ran.errors, "");
  EXPECT_EQ(ran.result.runs.size(), 1);
}

}  // namespace
}  // namespace moire::study
