// Matrix product: workgroups that compute tiles of C, a tile's k-loop one phase in which loads and arithmetic overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/kernel/gemm_kernel.hpp"

namespace moire::kernel {

struct GemmSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  builder::DataType dtype = builder::DataType::bf16;
  double digits = 1;  // how much those of the operands change: 0 zeros, 1 random
  // Instead of the library's choice
  std::optional<libraries::TileSpec> tile{};
  std::optional<libraries::ClusterSpec> cluster{};
  std::optional<std::int64_t> split_k{};
  std::optional<libraries::Schedule> schedule{};
  std::optional<std::int64_t> cus{};
  std::int64_t places_per_cu = 1;  // no key: what an operator needs of the library's choice
  static void describe(config::Describer<GemmSpec>& d);
};

// What runs on a GPU for it.
struct GemmLaunch {
  GemmKernel kernel;
  libraries::Schedule schedule = libraries::Schedule::one_tile;
  std::int64_t tiles = 0;  // of all parts of k
  std::int64_t workgroups = 0;
  std::int64_t fixed_tiles = 0;  // of a workgroup
  std::int64_t interleave = 1;
  Time start_up;
  bool store_beside = false;
  program::WorkgroupResources resources;
  program::PhaseShape main_loop;  // of all tiles
  program::PhaseShape store;
  double tile_of_sums = 1;  // what the unrounded sums of a tile take over its elements of C
};
// `cus` that the queue may use: the grid of a persistent kernel fits them, the library's choice does not know of them.
GemmLaunch launch_of(const GemmSpec& spec, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                     std::int64_t cus);

// Says what is wrong and what would be right; nothing if it fits the machine.
std::optional<config::Problem> check_gemm(const GemmSpec& spec, const libraries::EquippedSystem& system);

void append_gemm(builder::Builder& build, const GemmSpec& spec);
void append_gemm(builder::Builder& build, const GemmSpec& spec, const std::string& name);

}  // namespace moire::kernel
