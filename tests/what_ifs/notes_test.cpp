// Tests the notes on results, and the bandwidths of collectives.
#include <gmock/gmock.h>

#include "tests/what_ifs/ran.hpp"

namespace moire::study {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* gemm = "gemm: {m: 4096, n: 4096, k: 4096}";

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
  EXPECT_THAT(ran.result.notes, ElementsAre("node.nic.bandwidth 100 Gb/s: no effect, because puts is 0")) << ran.errors;
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
  // The collective consists of several copies, but has one bandwidth.
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

TEST(Scenario, EmptyChangesAreNone) {
  const Ran ran = run("4xh200.yaml", gemm, "sweep: {}\nvariants: {}\ncompare: {}\n");
  EXPECT_EQ(ran.errors, "");
  EXPECT_EQ(ran.result.runs.size(), 1);
}

}  // namespace
}  // namespace moire::study
