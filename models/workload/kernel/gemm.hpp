// Matrix product: workgroups compute tiles of C. The k-loop of a tile is one phase, in which loads and arithmetic
// overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/kernel/gemm_kernel.hpp"

namespace moire::kernel {

// Tiles that the workgroups of a kernel store to other GPUs.
struct Departures {
  double share = 0;       // of all tiles; a workgroup has those first that leave
  BytesPerSecond rate{};  // at which the links of a GPU take them
  bool beside = false;    // a workgroup stores a tile while it computes the next one
};

struct GemmSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  builder::DataType dtype = builder::DataType::bf16;
  bool transposed_b = false;  // B is stored as [n][k]
  double digits = 1;  // how much the operands' digits change between elements: 0 for zeros, 1 for random numbers
  // If one of these values is absent, the library chooses it:
  std::optional<libraries::TileSpec> tile{};
  std::optional<libraries::ClusterSpec> cluster{};
  std::optional<std::int64_t> split_k{};
  std::optional<libraries::Schedule> schedule{};
  std::optional<std::int64_t> cus{};
  std::optional<std::int64_t> stripe{};
  // Only operators set the next four; they are not keys of a scenario:
  std::int64_t places_per_cu = 1;  // workgroups needed per CU
  std::int64_t row_blocks = 1;     // blocks of rows, computed one after the other
  bool blocks_arrive = false;      // rows of a block arrive after those of the block before it
  Departures departures{};
  static void describe(config::Describer<GemmSpec>& d);
};

// The kernel that one GPU runs for a GEMM.
struct GemmLaunch {
  GemmKernel kernel;
  libraries::Schedule schedule = libraries::Schedule::one_tile;
  std::int64_t tiles = 0;  // over all parts of k
  std::int64_t workgroups = 0;
  std::int64_t fixed_tiles = 0;  // tiles that are assigned to each workgroup in advance
  std::int64_t interleave = 1;   // of the clusters that get the fixed tiles: GemmLibrarySpec::interleave
  Time start_up;
  bool store_beside = false;
  program::WorkgroupResources resources;
  program::PhaseShape main_loop;  // demands of all tiles together
  program::PhaseShape store;
  double tile_of_sums = 1;  // bytes of a tile of fp32 sums / bytes of a tile as the kernel stores it
};
// Returns the launch of a GEMM. `cus`: number of CUs that the queue may use. A persistent kernel has as many workgroups
// as these CUs hold. The library chooses the tile, the cluster and the split of the kernel without regard to `cus`.
GemmLaunch launch_of(const GemmSpec& spec, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                     std::int64_t cus);

// Returns what is wrong and what would be right; nothing if the GEMM fits the machine.
std::optional<config::Problem> check_gemm(const GemmSpec& spec, const libraries::EquippedSystem& system);

void append_gemm(builder::Builder& build, const GemmSpec& spec);
void append_gemm(builder::Builder& build, const GemmSpec& spec, const std::string& name);

}  // namespace moire::kernel
