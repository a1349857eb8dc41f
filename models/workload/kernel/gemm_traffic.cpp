#include "models/workload/kernel/gemm_traffic.hpp"

#include <algorithm>
#include <cmath>

#include "models/hardware/memory/cache.hpp"

namespace moire::kernel {

namespace {

double real(std::int64_t x) { return static_cast<double>(x); }

// One side of C (along m or n): its length and the length of a tile in elements, and the number of tiles.
struct Side {
  double size, tile, tiles;
};

// Returns the share of the bytes that several workgroups load of one panel which is loaded again because workgroups
// are out of step, up to the share of those that are completely out of step. `hits(bytes)`: the share of so many bytes
// that the cache holds; `panels`: bytes of the panels of a wave. What workgroups of slower CUs load again grows evenly,
// so it is twice its mean at the end, where it may have stayed at its limit for a while. Those that are ahead because
// their stores found the links idle load their panels so much earlier than others that the cache has lost a part by the
// time of the others; the mean of this part over the kernel counts.
template <class Hits>
double fallen_behind(const libraries::GemmLibrarySpec& library, const OutOfStep& out_of_step, double panels,
                     const Hits& hits) {
  const double mean = library.stride_drift * out_of_step.waves * (1 / hits(panels) - 1);
  const double most = library.stride_drift_most;
  const double drift = mean <= most / 2 ? mean : most * (1 - most / (4 * mean));
  if (out_of_step.reload <= 0) return drift;
  constexpr int points = 64;
  double lost = 0;
  for (int i = 0; i < points; ++i) {
    const double wave = std::min(out_of_step.leaving, out_of_step.waves * (i + 0.5) / points) - out_of_step.first;
    const double apart = std::min({1., out_of_step.most, out_of_step.per_wave * wave});
    if (apart > 0) lost += (1 - hits(panels * apart)) / points;
  }
  return std::min(most, drift + out_of_step.reload * lost);
}

// Returns the bytes that are loaded from memory if tiles follow one another along `inner`, in stripes. `wave`: number
// of tiles that run at once. A stripe has as many tiles along `outer` as a wave fills, but at least `least`; tiles that
// are left over belong to the other stripes. `requested`: bytes that all workgroups request from
// the L2. `k_bytes`: bytes of all elements along k.
double loaded(const Side& outer, const Side& inner, const TileGrid& grid, double wave, double least, double requested,
              double k_bytes, const OutOfStep& out_of_step, const machine::GpuSpec& gpu,
              const libraries::GemmLibrarySpec& library) {
  const double at_least = outer.tiles / std::max(1., std::floor(outer.tiles / std::min(wave, least)));
  const double in_column = std::min(outer.tiles, std::max(at_least, std::ceil(wave / inner.tiles)));
  const double stripes = outer.tiles / in_column;
  const double in_row = std::clamp(wave / in_column, 1., inner.tiles);
  const double waves_of_stripe = inner.tiles / in_row;
  const auto found = [&](double bytes) {
    return std::min(1., memory::room_for_loads(gpu.l2, gpu.memory_side_cache).value / bytes);
  };
  const double outer_bytes = outer.size * k_bytes;
  const double inner_bytes = inner.size * k_bytes;
  const double wave_bytes = (in_column * outer.tile + in_row * inner.tile) * k_bytes;
  // Every operand is loaded once. Unless the cache still holds them, the operand of the inner side is loaded again for
  // every further stripe, and the operand of the outer side for every further wave of a stripe. Of the bytes that the
  // workgroups of a wave share, some are loaded again because a workgroup has fallen behind.
  const double inner_again = (stripes - 1) * inner_bytes * (1 - found(inner_bytes + in_column * outer.tile * k_bytes));
  const double outer_again = (waves_of_stripe - 1) * outer_bytes * (1 - found(wave_bytes));
  const double shared = std::max(0., requested - stripes * inner_bytes - waves_of_stripe * outer_bytes);
  const double panels = wave_bytes / real(grid.parts);
  const auto hits = [&](double bytes) {
    return memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{bytes});
  };
  const double again = library.loaded_again * (1 - found(panels)) + fallen_behind(library, out_of_step, panels, hits);
  const double shared_again = shared * std::min(1., again);
  return std::min(requested, outer_bytes + inner_bytes + inner_again + outer_again + shared_again);
}

}  // namespace

Traffic gemm_traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident, std::int64_t blocks,
                     const OutOfStep& out_of_step, const machine::GpuSpec& gpu,
                     const libraries::GemmLibrarySpec& library) {
  const TileGrid grid(shape, kernel);
  const double k_bytes = real(shape.k) * shape.element;
  const double wave = std::max(1., real(resident) / real(grid.parts));  // tiles of one part of k that run at once
  const double parts = real(std::clamp<std::int64_t>(blocks, 1, grid.rows));
  const Side rows{real(shape.m) / parts, real(kernel.tile.m), std::ceil(real(grid.rows) / parts)};  // rows of a block
  const Side columns{real(shape.n), real(kernel.tile.n), real(grid.columns)};
  Traffic traffic;
  traffic.requested = (real(shape.m) * real(grid.columns) / real(kernel.cluster.n) +
                       real(shape.n) * real(grid.rows) / real(kernel.cluster.m)) *
                      k_bytes;
  const double requested = traffic.requested / parts;
  const auto along = [&](const Side& outer, const Side& inner) {
    const double of_library = std::max(real(library.stripe), std::ceil(real(library.stripe_rows) / outer.tile));
    const double least = kernel.stripe > 0 ? real(kernel.stripe) : of_library;
    return loaded(outer, inner, grid, wave, least, requested, k_bytes, out_of_step, gpu, library);
  };
  // Clusters follow one another along n. Without clusters, the library's tiles go in the direction in which the kernel
  // loads less.
  traffic.loaded = along(rows, columns);
  if (kernel.cluster_size() == 1 && kernel.stripe == 0) traffic.loaded = std::min(traffic.loaded, along(columns, rows));
  // The part of B that the cache still holds when the next block begins is not loaded again.
  const double b = columns.size * k_bytes, block = b + rows.size * k_bytes;
  const double kept = b * std::min(1., memory::room_for_loads(gpu.l2, gpu.memory_side_cache).value / block);
  traffic.loaded = parts * traffic.loaded - (parts - 1) * std::min(kept, traffic.loaded);
  return traffic;
}

}  // namespace moire::kernel
