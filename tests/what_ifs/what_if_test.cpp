// Tests changes that architects make, one step away from measured machines. Each test failed in an earlier version of
// Moire; its comment has the wrong results of that version.
#include <gmock/gmock.h>

#include "tests/what_ifs/ran.hpp"

namespace moire::study {
namespace {

using testing::Contains;

constexpr const char* gemm = "gemm: {m: 4096, n: 4096, k: 4096}";
constexpr const char* fast_pcie = "system.node.nic.pcie_bandwidth=1000 GB/s";

std::string collective(const std::string& name, const std::string& bytes) {
  return name + ": {bytes_per_rank: " + bytes + "}";
}

Sets with_nic(const std::string& gigabits, const std::string& nodes) {
  return {"system.nodes=" + nodes, "system.node.nic.bandwidth=" + gigabits + " Gb/s", fast_pcie};
}

// With 3 to 4.5 TB/s the run took 129 us, and with 5 TB/s 143 us. The reason was that lines left the caches just before
// the next workgroup needed them, and this workgroup then found none of them.
TEST(WhatIf, MoreMemoryBandwidthNeverSlowsWorkgroupsThatAreOutOfStep) {
  double before = 1e12;
  for (const char* bandwidth : {"3 TB/s", "4 TB/s", "4.5 TB/s", "5 TB/s", "6 TB/s", "8 TB/s"}) {
    const Ran ran =
        run("4xh200.yaml",
            "all_gather_gemm: {gemm: {m: 1024, n: 16384, k: 4096, tile: {m: 128, n: 256, k: 64, stages: 4}, "
            "cluster: {m: 1, n: 1}, schedule: persistent_stride, split_k: 1}, schedule: fused, chunks: 4, "
            "order: in_order}",
            "",
            {"system.node.gpus=2", "system.node.gpu.hbm.peak=10 TB/s",
             std::string("system.node.gpu.hbm.bandwidth=") + bandwidth});
    ASSERT_EQ(ran.errors, "");
    EXPECT_LE(ran.time_us(), before) << bandwidth;
    before = ran.time_us();
  }
}

// The candidates for `algorithm: best` were simulated before the fabric was checked, so the command ended with status
// 70, an internal error.
TEST(WhatIf, TheBestAlgorithmOnAnImpossibleFabricIsRefused) {
  const Ran ran =
      run("128x1xmi210_torus.yaml", "all_gather: {bytes_per_rank: 1 MiB, algorithm: best}", "", {"system.nodes=16"});
  EXPECT_NE(ran.errors.find("torus dimensions 16 x 8 make 128 nodes"), std::string::npos) << ran.errors;
}

// All of these runs ended with "internal error: nic.cpp: a put needs a byte and a sink", although `moire check`
// accepted them.
TEST(WhatIf, CollectivesBetweenNodesTakeAnySize) {
  const auto runs = [](const std::string& system, const std::string& operation, const Sets& sets = {}) {
    const Ran ran = run(system, operation, "", sets);
    EXPECT_EQ(ran.errors, "") << system << ": " << operation;
    if (ran.errors.empty()) {
      EXPECT_GT(ran.time_us(), 0);
    }
  };
  runs("8xmi300x.yaml", collective("all_reduce", "16 MiB"), {"system.nodes=2"});
  runs("2x8xh100_200gbe.yaml", collective("all_reduce", "10 MiB"));
  for (const char* bytes : {"1 B", "15 B", "1000 B", "100003 B"}) {
    for (const char* system : {"2x4xh200.yaml", "2x8xh100_200gbe.yaml"}) {
      for (const char* name : {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"})
        runs(system, collective(name, bytes));
      runs(system, std::string("all_to_all: {bytes_per_rank: ") + bytes + ", engine: nic}");
    }
    runs("ndv4.yaml", collective("all_reduce", bytes), {"system.nodes=4"});
    runs("128x8xh100_rail.yaml", collective("reduce_scatter", bytes), {"system.nodes=4"});
  }
  runs("128x8xh100_rail.yaml", "all_reduce: {bytes_per_rank: 1 MiB, algorithm: direct}", {"system.nodes=4"});
}

// The run with many nodes ended with an internal error. The run with a slow clock was reported as a deadlock, although
// it makes progress.
TEST(WhatIf, AsManyNodesAndAsSlowAClockAsTheKeysTakeRun) {
  const Ran many = run("2x1xmi210_200g.yaml", "stream: {read: 1 MB}", "", {"system.nodes=32768"});
  ASSERT_EQ(many.errors, "");
  EXPECT_EQ(many.time_us(), run("2x1xmi210_200g.yaml", "stream: {read: 1 MB}").time_us());
  const Ran slow =
      run("4xh200.yaml", "gemm: {m: 512, n: 512, k: 512}", "", {"system.node.gpu.compute.matrix_clock=1 MHz"});
  ASSERT_EQ(slow.errors, "");
  EXPECT_GT(slow.time_us(), 0);
}

// 256 MiB on 8 x 8 H100 took 2,686, 1,601, 1,601 and 3,250 us with NICs of 200, 400, 800 and 1600 Gb/s. 128 KiB on 4 x
// 8 H100 took 94, 131 and 257 us with 100, 200 and 400 Gb/s. The test allows 2 %, because the library uses twice
// as many channels (64) with NICs of 1600 Gb/s. This costs 1 % on the measured H100, and such NICs are no longer the
// limit.
TEST(WhatIf, AFasterNicNeverSlowsAnAllReduce) {
  const auto falls = [](const std::string& bytes, const std::string& nodes, const std::vector<const char*>& gigabits) {
    double before = 1e12;
    for (const char* rate : gigabits) {
      const Ran ran = run("128x8xh100_rail.yaml", collective("all_reduce", bytes), "", with_nic(rate, nodes));
      ASSERT_EQ(ran.errors, "");
      EXPECT_LE(ran.time_us(), 1.02 * before) << bytes << ", " << rate << " Gb/s";
      before = ran.time_us();
    }
  };
  falls("256 MiB", "8", {"200", "400", "800", "1600"});
  falls("128 KiB", "4", {"100", "200", "400"});
}

// Practically unlimited links raised the time of an all-reduce of 1 GiB on 4 H200 from 5.0 to 13.45 ms.
TEST(WhatIf, LinksWithoutLimitNeverSlowAnAllReduce) {
  const Ran ran = run("4xh200.yaml", collective("all_reduce", "1 GiB"),
                      "sweep: {system.node.gpu.port.link_bandwidth: [26.5625 GB/s, 100 GB/s, 100000 GB/s]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_GT(ran.time_us(0), ran.time_us(1));
  EXPECT_GE(ran.time_us(1), ran.time_us(2));
}

// An all-reduce of 64 MiB on 8 x 8 H100 took 1,762 us, and one of 128 MiB took 1,193 us.
TEST(WhatIf, MoreBytesAreNeverFaster) {
  const auto time = [](const char* bytes) {
    return run("128x8xh100_rail.yaml", collective("all_reduce", bytes), "", {"system.nodes=8", fast_pcie}).time_us();
  };
  const double less = time("64 MiB");
  EXPECT_GT(less, 0);
  EXPECT_LT(less, time("128 MiB"));
}

// With twice as many SMs, the time of an all-reduce that ran alone rose from 1,302 to 1,404 us.
TEST(WhatIf, MoreSmsNeverSlowAnAllReduce) {
  const Ran ran = run("4xh200.yaml", collective("all_reduce", "256 MiB"),
                      "sweep: {system.node.gpu.compute.groups.2.count: [5, 10, 14]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_GE(ran.time_us(0), ran.time_us(1));
  EXPECT_GE(ran.time_us(1), ran.time_us(2));
}

// With clocks of 1.7, 1.98 and 2.5 GHz the GEMM took 1,255, 1,431 and 1,790 us, because the matrix rate did not scale
// with the clock.
TEST(WhatIf, AHigherClockNeverSlowsAGemm) {
  const Ran ran = run("4xh200.yaml", gemm, "sweep: {system.node.gpu.compute.clock: [1.7 GHz, 1.98 GHz, 2.5 GHz]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_GT(ran.metric(0, "time_us"), ran.metric(1, "time_us"));
  EXPECT_GT(ran.metric(1, "time_us"), ran.metric(2, "time_us"));
  EXPECT_EQ(ran.metric(1, "time_us"), run("4xh200.yaml", gemm).metric(0, "time_us")) << "the file's own clock";
  EXPECT_THAT(ran.result.notes,
              Contains("compute.matrix_clock 2.273 GHz instead of 1.8 GHz, scaled with compute.clock (in run "
                       "'2.5 GHz')"));
}

TEST(WhatIf, APowerLimitThatStaysKeepsAGemmAsItIs) {
  const Ran ran = run("4xh200.yaml", gemm, "sweep: {system.node.gpu.compute.clock: [1.7 GHz, 1.98 GHz, 2.5 GHz]}\n",
                      {"system.node.gpu.compute.matrix_clock=1.7 GHz"});
  ASSERT_EQ(ran.errors, "");
  for (const std::size_t faster : {1, 2})  // clocks change in steps of 1 %, and loads depend on the clock
    EXPECT_NEAR(ran.metric(faster, "time_us"), ran.metric(0, "time_us"), 0.015 * ran.metric(0, "time_us"));
}

TEST(WhatIf, MoreCusNeverSlowAGemm) {
  const Ran ran = run("8xmi300x.yaml", gemm, "sweep: {system.node.gpu.compute.groups.0.count: [6, 8, 10]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_GE(ran.metric(0, "time_us"), ran.metric(1, "time_us"));
  EXPECT_GE(ran.metric(1, "time_us"), ran.metric(2, "time_us"));
}

// With half of the GPUs, every pair of GPUs had 7 / 3 times as many links as with all 8 GPUs; it must have as many.
TEST(WhatIf, HalfOfAMeshHasTheLinksItHadBefore) {
  const Ran ran = run("8xmi300x.yaml", "all_to_all: {bytes_per_peer: 64 MiB, engine: dma, streams: per_peer}",
                      "sweep: {system.node.gpus: [4, 8]}\n");
  ASSERT_EQ(ran.errors, "");
  EXPECT_NEAR(ran.metric(0, "time_us"), ran.metric(1, "time_us"), 0.05 * ran.metric(1, "time_us"));
}

TEST(WhatIf, AnOperatorTakesTheSystemsLibrary) {
  const std::string embedding =
      "embedding_all_to_all: {tables_per_gpu: 4, global_batch: 1024, pooling: 8, dim: 64, in_flight: 4 KiB, "
      "rows_per_table: 10000}";
  EXPECT_EQ(run("4xh200.yaml", embedding).errors, "");
}

}  // namespace
}  // namespace moire::study
