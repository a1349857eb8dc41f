// Compares the model of cuBLASLt (configs/gemm/h200_cublaslt.yaml) with what was seen on GPUs: which kernels it
// launches (traces/h200x2/gemm_kernels*.csv), and the bytes that they load from and store to memory, counted by a
// profiler (validation/h200/gemm_traffic.csv and validation/h100/gemm_traffic.csv, written by
// validation/c3/count_traffic.py).
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "models/workload/kernel/gemm.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/shipped_gpu.hpp"

namespace moire::kernel {
namespace {

using Asked = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // m, n, k, SMs

struct Launched {
  GemmKernel kernel;
  std::int64_t workgroups = 0;
};

std::int64_t whole(const support::CsvRow& row, const char* column) { return std::stoll(row.at(column)); }

// The names of the kernels have first numbers along n: nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT has tiles of 128
// x 256, steps of 64, 4 stages and clusters of 2 x 1.
std::map<Asked, Launched> launches(const char* file = "gemm_kernels.csv") {
  std::map<Asked, Launched> all;
  for (const support::CsvRow& row : support::csv_table(std::string("traces/h200x2/") + file)) {
    long tile_n = 0, tile_m = 0, step = 0, stages = 0, cluster_n = 0, cluster_m = 0;
    if (std::sscanf(row.at("kernel").c_str(), "nvjet_sm90_%*[a-z]_%ldx%ld_%ldx%ld_%ldx%ld_", &tile_n, &tile_m, &step,
                    &stages, &cluster_n, &cluster_m) != 6)
      continue;
    const std::int64_t sms = whole(row, "compute_sms");
    const std::int64_t split = std::max<std::int64_t>(1, whole(row, "split_k"));
    all[{whole(row, "m"), whole(row, "n"), whole(row, "k"), sms == 0 ? 132 : sms}] = {
        {{tile_m, tile_n, step, stages}, {cluster_m, cluster_n}, split},
        whole(row, "grid_x") * whole(row, "grid_y") * whole(row, "grid_z")};
  }
  return all;
}

struct Agreement {
  int cases = 0, tile = 0, all = 0;
};

// Counts for every second shape whether the model chooses the kernel that was launched. The weights of the choice were
// fitted to the first, third, ... shape of the list (`fitted`).
Agreement agreement(std::int64_t sms, bool fitted) {
  const libraries::EquippedGpu gpu = support::shipped_gpu("h200");
  Agreement count;
  int shape = 0;
  for (const auto& [asked, launched] : launches()) {
    const auto [m, n, k, cus] = asked;
    if (cus != sms || (shape++ % 2 == 0) != fitted) continue;
    const GemmKernel kernel = choose_kernel({m, n, k, 2}, gpu, gpu.gemm, cus);
    const GemmKernel& seen = launched.kernel;
    const bool tile = kernel.tile.m == seen.tile.m && kernel.tile.n == seen.tile.n;
    const bool all =
        tile && kernel.cluster.m == seen.cluster.m && kernel.cluster.n == seen.cluster.n && kernel.split == seen.split;
    ++count.cases;
    count.tile += tile ? 1 : 0;
    count.all += all ? 1 : 0;
  }
  return count;
}

TEST(CublasLt, TheModelPicksMostKernelsToWhichItWasNotFitted) {
  const Agreement all = agreement(132, false), fewer = agreement(124, false);
  EXPECT_EQ(all.cases, 184);
  EXPECT_GE(all.tile, 0.87 * 184);
  EXPECT_GE(all.all, 0.71 * 184);
  EXPECT_EQ(fewer.cases, 184);
  EXPECT_GE(fewer.tile, 0.76 * 184);
  EXPECT_GE(fewer.all, 0.59 * 184);
}

TEST(CublasLt, TheModelPicksMostKernelsToWhichItWasFitted) {
  const Agreement all = agreement(132, true), fewer = agreement(124, true);
  EXPECT_GE(all.tile, 0.81 * all.cases);
  EXPECT_GE(all.all, 0.67 * all.cases);
  EXPECT_GE(fewer.tile, 0.75 * fewer.cases);
  EXPECT_GE(fewer.all, 0.52 * fewer.cases);
}

// If B is stored as [n][k], the library has other kernels. The weights of the choice were fitted to neither list.
TEST(CublasLt, TheModelPicksMostKernelsOfDrawnProducts) {
  const libraries::EquippedGpu gpu = support::shipped_gpu("h200");
  for (const bool transposed : {false, true}) {
    const auto seen = launches(transposed ? "gemm_kernels_transposed.csv" : "gemm_kernels_drawn.csv");
    EXPECT_EQ(seen.size(), 2328);
    int tiles = 0, stages = 0;
    for (const auto& [asked, launched] : seen) {
      const auto [m, n, k, cus] = asked;
      const GemmKernel kernel = choose_kernel({m, n, k, 2, transposed}, gpu, gpu.gemm, cus);
      const bool tile = kernel.tile.m == launched.kernel.tile.m && kernel.tile.n == launched.kernel.tile.n;
      tiles += tile ? 1 : 0;
      stages += tile && kernel.tile.stages == launched.kernel.tile.stages ? 1 : 0;
    }
    EXPECT_GE(tiles, 0.7 * 2328) << transposed;
    EXPECT_GE(stages, 0.7 * 2328) << transposed;
  }
}

// The rule `largest_of_several_waves` of choose_kernel().
TEST(CublasLt, LargeClustersAreForOneWave) {
  std::map<bool, std::pair<int, int>> large;  // by "several waves": large clusters, all
  for (const auto& [asked, launched] : launches()) {
    const auto [m, n, k, cus] = asked;
    auto& [clusters, all] = large[TileGrid({m, n, k, 2}, launched.kernel).tiles() > launched.workgroups];
    clusters += launched.kernel.cluster_size() > 2 ? 1 : 0;
    ++all;
  }
  EXPECT_EQ(large[false], std::pair(229, 343));
  EXPECT_EQ(large[true], std::pair(73, 395));
}

// The grid of a kernel follows from its tile, cluster and split.
TEST(CublasLt, ThePersistentGridIsTheOneSeen) {
  const libraries::EquippedGpu gpu = support::shipped_gpu("h200");
  for (const auto& [asked, launched] : launches()) {
    const auto [m, n, k, cus] = asked;
    const std::int64_t held = resident_workgroups(gpu, resources_of(gpu.gemm, launched.kernel), cus);
    EXPECT_EQ(std::min(held, TileGrid({m, n, k, 2}, launched.kernel).tiles()), launched.workgroups)
        << m << " " << n << " " << k << " on " << cus;
  }
}

struct Deviation {
  int gemms = 0;
  double mean = 0, bias = 0, worst = 0;

  void add(double error) {
    ++gemms;
    mean += (std::abs(error) - mean) / gemms;
    bias += (error - bias) / gemms;
    worst = std::max(worst, std::abs(error));
  }
};

// In percent. loaded: of GEMMs that read at least 50 MB, of up to one wave of tiles and of more than one. stored: of
// all bytes of C, of GEMMs whose C has at least 4 MB and whose k is not split.
struct TrafficErrors {
  Deviation loaded_by_one_wave, loaded, stored;
};

TrafficErrors traffic_errors(const std::string& gpu_name, const std::string& folder) {
  const libraries::EquippedGpu gpu = support::shipped_gpu(gpu_name);
  const std::map<Asked, Launched> known = launches();
  TrafficErrors made;
  for (const support::CsvRow& row : support::csv_table("validation/" + folder + "/gemm_traffic.csv")) {
    const auto launched = known.find({whole(row, "m"), whole(row, "n"), whole(row, "k"), 132});
    if (launched == known.end()) continue;
    const GemmKernel& kernel = launched->second.kernel;
    GemmSpec spec;
    spec.m = whole(row, "m");
    spec.n = whole(row, "n");
    spec.k = whole(row, "k");
    spec.tile = kernel.tile;
    spec.cluster = kernel.cluster;
    spec.split_k = kernel.split;
    const GemmLaunch launch = launch_of(spec, gpu, gpu.gemm, 132);
    const double read = std::stod(row.at("memory_read_bytes"));
    Deviation& loaded = launch.tiles / kernel.split > launch.workgroups ? made.loaded : made.loaded_by_one_wave;
    if (read >= 50e6) loaded.add(100 * (launch.main_loop.read * launch.main_loop.read_miss / read - 1));
    const double c = launch.store.write;
    if (kernel.split == 1 && c >= 4e6)
      made.stored.add(100 * (launch.store.write_miss - std::stod(row.at("memory_written_bytes")) / c));
  }
  return made;
}

TEST(CublasLt, TheModelLoadsAndStoresWhatWasCountedOnAnH200) {
  const TrafficErrors found = traffic_errors("h200", "h200");
  EXPECT_EQ(found.loaded_by_one_wave.gemms, 131);
  EXPECT_LT(found.loaded_by_one_wave.mean, 2);
  EXPECT_EQ(found.loaded.gemms, 178);
  EXPECT_NEAR(found.loaded.mean, 8.7, 0.2);
  EXPECT_LT(std::abs(found.loaded.bias), 4);
  EXPECT_LT(found.loaded.worst, 60);
  EXPECT_GT(found.stored.gemms, 230);
  EXPECT_LT(found.stored.mean, 5);
}

// For a few of these shapes, the library chooses another kernel on an H100.
TEST(CublasLt, TheModelLoadsAndStoresWhatWasCountedOnAnH100) {
  const TrafficErrors found = traffic_errors("h100_sxm", "h100");
  EXPECT_LT(found.loaded_by_one_wave.mean, 3);
  EXPECT_EQ(found.loaded.gemms, 179);
  EXPECT_LT(found.loaded.mean, 10);
  EXPECT_LT(std::abs(found.loaded.bias), 5);
  EXPECT_LT(found.stored.mean, 6);
}

}  // namespace
}  // namespace moire::kernel
