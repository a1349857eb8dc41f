#include "models/workload/kernel/gemm_kernel.hpp"

#include <algorithm>
#include <cmath>

#include "models/hardware/cu/occupancy.hpp"
#include "sim/core/power.hpp"

namespace moire::kernel {

namespace {

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
double real(std::int64_t x) { return static_cast<double>(x); }

// cuBLASLt 13.1 chose clusters of more than two workgroups for 73 of 395 GEMMs of several waves, and for 229 of 343 of
// one wave (traces/h200x2/gemm_kernels.csv).
constexpr std::int64_t largest_of_several_waves = 2;

// Times that the library estimates, in seconds. `reduction` is the time of the kernel that adds the parts of a split k.
// The others belong to one tile: its arithmetic, the loads of its operands from the L2 and from memory, and its store.
struct Costs {
  double arithmetic, loads, memory, store, reduction;
};

Costs costs_of(const GemmShape& shape, const GemmKernel& kernel, const TileGrid& grid, std::int64_t at_once,
               const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  const libraries::TileSpec& tile = kernel.tile;
  const libraries::ClusterSpec& cluster = kernel.cluster;
  const std::int64_t split = kernel.split;
  const double cus = real(gpu.compute.total_cus());
  const double rate = main_loop_rate(gpu, library);
  const double depth = real(grid.depth);
  const double small =
      library.choice.small_tile * (64 / std::min(real(tile.n), 256.) + 64 / std::min(real(tile.m), 256.));
  const double all = real(tile.m + tile.n) * depth * shape.element;
  const double shared = (real(tile.m) / real(cluster.n) + real(tile.n) / real(cluster.m)) * depth * shape.element;
  const double bytes = shared + (all - shared) * library.choice.unshared;
  const double waves = real(grid.tiles()) / real(at_once);
  const double c = real(shape.m) * real(shape.n);
  Costs costs{};
  costs.arithmetic = 2 * real(tile.m) * real(tile.n) * depth / rate * (1 + small) * std::max(1., real(at_once) / cus);
  costs.loads = bytes * real(at_once) / gpu.l2.bandwidth.value;
  costs.memory = real(shape.m + shape.n) * real(shape.k) * shape.element / gpu.hbm.bandwidth.value / waves;
  const double stored = split > 1 ? 4 : shape.element;
  const double tile_bytes = real(tile.m) * real(tile.n) * stored;
  costs.store = library.store_in_flight
                    ? tile_bytes * gpu.hbm.unloaded_latency.seconds() / library.store_in_flight->value
                    : tile_bytes * gpu.compute.store_cost / gpu.compute.load_store_per_cu.value;
  if (split > 1) {
    costs.reduction = gpu.host.queue_gap.seconds() + c * (4 * real(split) + shape.element) / gpu.hbm.bandwidth.value;
  }
  return costs;
}

double library_cost(const GemmShape& shape, const GemmKernel& kernel, const TileGrid& grid, std::int64_t at_once,
                    const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  const libraries::ChoiceSpec& choice = library.choice;
  const Costs costs = costs_of(shape, kernel, grid, at_once, gpu, library);
  const double loads = choice.loads * costs.loads;
  const double idle = std::max(1., real(gpu.compute.total_cus()) / real(at_once));
  const double memory = choice.memory * costs.memory * core::power(idle, choice.few);
  const double main_loop = std::sqrt(costs.arithmetic * costs.arithmetic + loads * loads + memory * memory);
  const double waves = real(grid.tiles()) / real(at_once);
  const double counted = std::ceil(waves) * (1 - choice.part_wave) + waves * choice.part_wave;
  double tile = main_loop + choice.store * costs.store + choice.tile.seconds();
  if (kernel.cluster_size() == 1) tile += choice.single.seconds();
  return counted * tile + choice.reduction * costs.reduction;
}

}  // namespace

TileGrid::TileGrid(const GemmShape& shape, const GemmKernel& kernel)
    : rows(over(over(shape.m, kernel.tile.m), kernel.cluster.m) * kernel.cluster.m),
      columns(over(over(shape.n, kernel.tile.n), kernel.cluster.n) * kernel.cluster.n),
      parts(kernel.split),
      depth(over(over(shape.k, kernel.split), kernel.tile.k) * kernel.tile.k) {}

program::WorkgroupResources resources_of(const libraries::GemmLibrarySpec& library, const GemmKernel& kernel) {
  const auto& tile = kernel.tile;
  const double stages = real(tile.stages * tile.k * (tile.m + tile.n)) * 2;
  const std::int64_t sums = tile.m * tile.n / library.threads;
  const std::int64_t registers =
      library.registers_per_thread.value_or(std::clamp<std::int64_t>(sums + sums / 2 + 32, 64, 512));
  return {library.threads, registers, Bytes{stages + library.lds.value}, kernel.cluster_size()};
}

double main_loop_rate(const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  return gpu.compute.matrix_16bit.value * gpu.compute.matrix_efficiency * library.main_loop /
         real(gpu.compute.total_cus());
}

std::int64_t resident_workgroups(const machine::GpuSpec& gpu, const program::WorkgroupResources& resources,
                                 std::int64_t cus) {
  const std::int64_t on_one = cu::occupancy(gpu.compute, resources);
  if (resources.cluster > gpu.compute.cluster_max) return 0;
  std::int64_t most = 0;
  for (const cu::CuGroupSpec& group : gpu.compute.groups) {
    most += group.count * (group.cus * on_one / resources.cluster) * resources.cluster;
  }
  return std::min(most, cus * on_one / resources.cluster * resources.cluster);
}

GemmKernel choose_kernel(const GemmShape& shape, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                         std::int64_t cus, const Preset& preset) {
  std::vector<libraries::TileSpec> tiles = library.kernels(shape.transposed_b);
  std::vector<libraries::ClusterSpec> clusters = library.cluster_shapes();
  std::vector<std::int64_t> splits = library.splits;
  if (preset.tile != nullptr) tiles = {*preset.tile};
  if (preset.cluster != nullptr) clusters = {*preset.cluster};
  if (preset.split > 0) splits = {preset.split};
  GemmKernel best{tiles.front(), clusters.front(), splits.front()};
  double lowest = -1;
  std::int64_t most_places = 0;  // workgroups of the best kernel that a CU holds, up to places_per_cu
  for (const libraries::TileSpec& tile : tiles) {
    for (const libraries::ClusterSpec& cluster : clusters) {
      for (const std::int64_t split : splits) {
        const GemmKernel kernel{tile, cluster, split};
        const TileGrid grid(shape, kernel);
        const std::int64_t held = resident_workgroups(gpu, resources_of(library, kernel), cus);
        if (held == 0) continue;
        // The library does not choose a cluster that is larger than C. If the tiles do not all run at once, it chooses
        // no large cluster and does not split k. It does not split k into parts that are too short either.
        const bool several_waves = grid.tiles() > held;
        if (preset.cluster == nullptr && (over(shape.m, tile.m) < cluster.m || over(shape.n, tile.n) < cluster.n ||
                                          (several_waves && kernel.cluster_size() > largest_of_several_waves)))
          continue;
        if (preset.split == 0 && split > 1 && (several_waves || shape.k / split < library.shortest_part)) continue;
        const double cost = library_cost(shape, kernel, grid, std::min(held, grid.tiles()), gpu, library);
        const std::int64_t places =
            std::min(preset.places_per_cu, cu::occupancy(gpu.compute, resources_of(library, kernel)));
        if (lowest >= 0 && (places < most_places || (places == most_places && cost >= lowest))) continue;
        most_places = places;
        lowest = cost;
        best = kernel;
      }
    }
  }
  return best;
}

}  // namespace moire::kernel
