// Compares the bytes that GEMMs load from and store to memory with what a profiler counted
// (validation/h200/gemm_traffic.csv and validation/h100/gemm_traffic.csv, written by validation/c3/count_traffic.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "models/workload/kernel/gemm.hpp"
#include "models/workload/libraries/software.hpp"
#include "sim/config/config.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::kernel {
namespace {

using Shape = std::array<std::int64_t, 3>;  // m, n, k

Shape shape_of(const support::CsvRow& row) {
  return {std::stoll(row.at("m")), std::stoll(row.at("n")), std::stoll(row.at("k"))};
}

// Returns the kernels that the library launched for the shapes of traces/h200x2. Their names have first numbers along
// n, such as nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT: a tile of 128 x 256, steps of 64, 4 stages, clusters of
// 2 x 1.
std::map<Shape, GemmKernel> launched() {
  std::map<Shape, GemmKernel> kernels;
  for (const support::CsvRow& row : support::csv_table("traces/h200x2/gemm_kernels.csv")) {
    if (row.at("compute_sms") != "0") continue;
    std::array<long, 6> of{};
    if (std::sscanf(row.at("kernel").c_str(), "nvjet_sm90_tst_%ldx%ld_%ldx%ld_%ldx%ld", of.data(), &of[1], &of[2],
                    &of[3], &of[4], &of[5]) == 6)
      kernels[shape_of(row)] = {
          {of[1], of[0], of[2], of[3]}, {of[5], of[4]}, std::max<std::int64_t>(1, std::stoll(row.at("split_k")))};
  }
  return kernels;
}

struct Errors {
  int gemms = 0;
  double mean = 0, bias = 0, worst = 0;

  void add(double error) {
    ++gemms;
    mean += std::abs(error);
    bias += error;
    worst = std::max(worst, std::abs(error));
  }
  void end() {
    mean /= gemms;
    bias /= gemms;
  }
};

// In percent. loaded: of GEMMs that read at least 50 MB, of up to one wave of tiles and of more than one. stored: of
// all bytes of C, of GEMMs whose C has at least 4 MB and whose k is not split.
struct AllErrors {
  Errors loaded_by_one_wave, loaded, stored;
};

AllErrors errors(const std::string& folder, const std::string& gpu_name) {
  config::Diagnostics diagnostics;
  const auto tree = config::load(support::source_dir() + "/configs/hardware/" + gpu_name + ".yaml", {}, diagnostics);
  const auto gpu = libraries::read_gpu(*tree, diagnostics);
  const std::map<Shape, GemmKernel> kernels = launched();
  AllErrors made;
  for (const support::CsvRow& row : support::csv_table("validation/" + folder + "/gemm_traffic.csv")) {
    const auto known = kernels.find(shape_of(row));
    if (known == kernels.end()) continue;
    GemmSpec spec;
    spec.m = known->first[0];
    spec.n = known->first[1];
    spec.k = known->first[2];
    spec.tile = known->second.tile;
    spec.cluster = known->second.cluster;
    spec.split_k = known->second.split;
    const GemmLaunch launch = launch_of(spec, *gpu, gpu->gemm, gpu->compute.total_cus());
    const double read = std::stod(row.at("memory_read_bytes"));
    const bool waves = launch.tiles / launch.kernel.split > launch.workgroups;
    if (read >= 50e6)
      (waves ? made.loaded : made.loaded_by_one_wave)
          .add(100 * (launch.main_loop.read * launch.main_loop.read_miss / read - 1));
    const double c = launch.store.write;
    if (spec.split_k == 1 && c >= 4e6)
      made.stored.add(100 * (launch.store.write_miss - std::stod(row.at("memory_written_bytes")) / c));
  }
  for (Errors* of : {&made.loaded_by_one_wave, &made.loaded, &made.stored}) of->end();
  return made;
}

TEST(CountedTraffic, IsThatOfTheModelOnAnH200) {
  const AllErrors found = errors("h200", "h200");
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
TEST(CountedTraffic, IsThatOfTheModelOnAnH100) {
  const AllErrors found = errors("h100", "h100_sxm");
  EXPECT_LT(found.loaded_by_one_wave.mean, 3);
  EXPECT_EQ(found.loaded.gemms, 179);
  EXPECT_LT(found.loaded.mean, 10);
  EXPECT_LT(std::abs(found.loaded.bias), 5);
  EXPECT_LT(found.stored.mean, 6);
}

}  // namespace
}  // namespace moire::kernel
