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

// Returns the bytes that are loaded from memory if tiles follow one another along `inner`, in stripes. `wave`: number
// of tiles that run at once. A stripe has as many tiles along `outer` as a wave fills, but at least the stripe of the
// library. `requested`: bytes that all workgroups request from the L2. `k_bytes`: bytes of all elements along k.
// `apart`: bytes along k between the first and last workgroup of a wave.
double loaded(const Side& outer, const Side& inner, const TileGrid& grid, double wave, double requested, double k_bytes,
              double apart, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  const double whole_rows = std::ceil(wave / inner.tiles);
  const double stripe = std::min(wave, real(library.stripe));
  const double in_column = std::min(outer.tiles, std::max(stripe, whole_rows));
  const double in_row = in_column <= whole_rows ? std::min(inner.tiles, wave) : std::max(1., wave / in_column);
  const double stripes = std::ceil(outer.tiles / in_column);
  const double waves_of_stripe = std::ceil(inner.tiles / in_row);
  const auto found = [&](double bytes) {
    return memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{bytes});
  };
  const double outer_bytes = outer.size * k_bytes;
  const double inner_bytes = inner.size * k_bytes;
  const double wave_side = in_column * outer.tile + in_row * inner.tile;
  // Every operand is loaded once. Unless the cache still holds them, the operand of the inner side is loaded again for
  // every further stripe, and the operand of the outer side for every further wave of a stripe. Bytes that the
  // workgroups of a wave share are loaded again if these workgroups are too far apart along k.
  const double inner_again = (stripes - 1) * inner_bytes * (1 - found(inner_bytes + in_column * outer.tile * k_bytes));
  const double outer_again = (waves_of_stripe - 1) * outer_bytes * (1 - found(wave_side * k_bytes));
  const double once_a_wave = stripes * inner_bytes + waves_of_stripe * outer_bytes;
  const double lost = std::max(0., requested - once_a_wave) * (1 - found(wave_side * real(grid.parts) * apart));
  return std::min(requested, outer_bytes + inner_bytes + inner_again + outer_again + lost);
}

}  // namespace

Traffic gemm_traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident, std::int64_t blocks,
                     const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library) {
  const TileGrid grid(shape, kernel);
  const double k_bytes = real(shape.k) * shape.element;
  const double parts = real(std::clamp<std::int64_t>(blocks, 1, grid.rows));
  const Side rows{real(shape.m) / parts, real(kernel.tile.m), std::ceil(real(grid.rows) / parts)};  // rows of a block
  const Side columns{real(shape.n), real(kernel.tile.n), real(grid.columns)};
  const double wave = std::max(1., real(resident) / real(grid.parts));  // tiles of one part of k that run at once
  const double apart = std::min(real(library.k_spread) * shape.element, k_bytes / real(grid.parts));
  Traffic traffic;
  traffic.requested = (real(shape.m) * real(grid.columns) / real(kernel.cluster.n) +
                       real(shape.n) * real(grid.rows) / real(kernel.cluster.m)) *
                      k_bytes;
  const double requested = traffic.requested / parts;
  const double along_m = loaded(columns, rows, grid, wave, requested, k_bytes, apart, gpu, library);
  const double along_n = loaded(rows, columns, grid, wave, requested, k_bytes, apart, gpu, library);
  // If clusters have several tiles along m, tiles follow one another along m; with clusters of 1 x N, along n. Without
  // clusters, they go in the direction in which the kernel loads less.
  if (kernel.cluster_size() == 1) {
    traffic.loaded = std::min(along_m, along_n);
  } else {
    traffic.loaded = kernel.cluster.m > 1 ? along_m : along_n;
  }
  // The part of B that the cache still holds when the next block begins is not loaded again.
  const double b = columns.size * k_bytes, block = b + rows.size * k_bytes;
  const double kept = b * memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{block});
  traffic.loaded = parts * traffic.loaded - (parts - 1) * std::min(kept, traffic.loaded);
  return traffic;
}

}  // namespace moire::kernel
