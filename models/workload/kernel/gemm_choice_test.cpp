// Checks that choose_kernel() with the weights of configs/gemm/h200_cublaslt.yaml picks most of the kernels that
// cuBLASLt picked in traces/h200x2/gemm_kernels.csv.
#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>

#include "models/workload/kernel/gemm_kernel.hpp"
#include "models/workload/libraries/software.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::kernel {
namespace {

using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // m, n, k, SMs

struct Launch {
  std::array<std::int64_t, 6> kernel;  // tile m, tile n, cluster m, cluster n, split, workgroups
};

libraries::EquippedGpu h200() {
  config::Diagnostics diagnostics;
  const auto tree = config::load(support::source_dir() + "/configs/hardware/h200.yaml", {}, diagnostics);
  const auto gpu = libraries::read_gpu(*tree, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  return *gpu;
}

std::map<Shape, Launch> launches() {
  std::ifstream file(support::source_dir() + "/traces/h200x2/gemm_kernels.csv");
  const std::regex name("nvjet_sm90_[a-z]+_([0-9]+)x([0-9]+)_[0-9]+x[0-9]+_([0-9]+)x([0-9]+)_.*");
  std::map<Shape, Launch> all;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    std::smatch match;
    if (cells.size() < 20 || !std::regex_match(cells[10], match, name)) continue;
    const auto at = [&](std::size_t column) { return std::int64_t{std::stoll(cells[column])}; };
    const auto part = [&](std::size_t group) { return std::int64_t{std::stoll(match[group])}; };
    const std::int64_t sms = at(5) == 0 ? 132 : at(5);
    all[{at(1), at(2), at(3), sms}] = {
        {part(2), part(1), part(4), part(3), std::max<std::int64_t>(1, at(22)), at(11) * at(12) * at(13)}};
  }
  return all;
}

struct Agreement {
  int cases = 0, tile = 0, all = 0;
};

Agreement agreement(std::int64_t sms) {
  const libraries::EquippedGpu gpu = h200();
  Agreement count;
  for (const auto& [shape, launch] : launches()) {
    const auto [m, n, k, cus] = shape;
    if (cus != sms) continue;
    const GemmKernel kernel = choose_kernel({m, n, k, 2}, gpu, gpu.gemm, cus);
    const auto& seen = launch.kernel;
    const bool tile = kernel.tile.m == seen[0] && kernel.tile.n == seen[1];
    const bool all = tile && kernel.cluster.m == seen[2] && kernel.cluster.n == seen[3] && kernel.split == seen[4];
    ++count.cases;
    count.tile += tile ? 1 : 0;
    count.all += all ? 1 : 0;
  }
  return count;
}

// The weights were fitted to these launches, in which cuBLASLt used all 132 SMs.
TEST(H200GemmChoice, PicksMostTiles) {
  const Agreement found = agreement(132);
  EXPECT_EQ(found.cases, 369);
  EXPECT_GE(found.tile, 0.78 * 369);
  EXPECT_GE(found.all, 0.6 * 369);
}

// The weights were not fitted to these launches, for which cuBLASLt was limited to 124 SMs.
TEST(H200GemmChoice, PicksMostTilesOnFewerSms) {
  const Agreement found = agreement(124);
  EXPECT_EQ(found.cases, 369);
  EXPECT_GE(found.tile, 0.65 * 369);
}

// The grid of a kernel follows from its tile, cluster and split.
TEST(H200GemmChoice, ThePersistentGridIsTheOneSeen) {
  const libraries::EquippedGpu gpu = h200();
  for (const auto& [shape, launch] : launches()) {
    const auto [m, n, k, cus] = shape;
    const auto& seen = launch.kernel;
    GemmKernel kernel;
    for (const libraries::TileSpec& tile : gpu.gemm.kernels()) {
      if (tile.m == seen[0] && tile.n == seen[1]) kernel.tile = tile;
    }
    kernel.cluster = {seen[2], seen[3]};
    kernel.split = seen[4];
    const std::int64_t held = resident_workgroups(gpu, resources_of(gpu.gemm, kernel), cus);
    EXPECT_EQ(std::min(held, TileGrid({m, n, k, 2}, kernel).tiles()), seen[5])
        << m << " " << n << " " << k << " on " << cus;
  }
}

}  // namespace
}  // namespace moire::kernel
