#include "models/kernel/gemm_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/memory/cache.hpp"

namespace moire::models::kernel {

Traffic gemm_traffic(const GemmShape& shape, const GemmKernel& kernel, std::int64_t resident,
                     const machine::GpuSpec& gpu) {
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  const TileGrid grid(shape, kernel);
  const double k_bytes = real(shape.k) * shape.element;
  // Tiles follow each other along `inner`, in stripes as high along `outer` as the tiles of a wave fill.
  struct Side {
    double size, tile, tiles;  // elements, elements, number
  };
  Side outer{real(shape.m), real(kernel.tile.m), real(grid.rows)};
  Side inner{real(shape.n), real(kernel.tile.n), real(grid.columns)};
  // Clusters of tiles along n go down along m, as those of cuBLAS do (its `v` kernels).
  if (kernel.cluster.m == 1 && kernel.cluster.n > 1) std::swap(outer, inner);
  const double wave = std::max(1., real(resident) / real(grid.parts));  // tiles of one part of k at once
  const double stripe = std::min(wave, real(gpu.gemm.stripe));
  const double in_column = std::min(outer.tiles, std::max(stripe, std::ceil(wave / inner.tiles)));
  const double in_row = std::min(inner.tiles, std::max(1., wave / in_column));
  const double stripes = std::ceil(outer.tiles / in_column);
  const double waves_of_stripe = std::ceil(inner.tiles / in_row);

  const auto found = [&](double bytes) {
    return memory::uniform_hit_ratio(gpu.l2, gpu.memory_side_cache, Bytes{bytes});
  };
  const double outer_bytes = outer.size * k_bytes;
  const double inner_bytes = inner.size * k_bytes;
  const double wave_side = in_column * outer.tile + in_row * inner.tile;
  const double part_bytes = k_bytes / real(grid.parts);
  Traffic traffic;
  traffic.requested = (real(shape.m) * real(grid.columns) / real(kernel.cluster.n) +
                       real(shape.n) * real(grid.rows) / real(kernel.cluster.m)) *
                      k_bytes;
  // Every operand once; the inner one for every stripe and the outer one for every wave of a stripe, unless the cache
  // still holds it; and what the workgroups of a wave share, unless they are too far apart.
  const double inner_again = (stripes - 1) * inner_bytes * (1 - found(inner_bytes + in_column * outer.tile * k_bytes));
  const double outer_again = (waves_of_stripe - 1) * outer_bytes * (1 - found(wave_side * k_bytes));
  const double once_a_wave = stripes * inner_bytes + waves_of_stripe * outer_bytes;
  const double shared = std::max(0., traffic.requested - once_a_wave);
  const double apart = std::min(real(gpu.gemm.k_spread) * shape.element, part_bytes);
  const double lost = shared * (1 - found(wave_side * real(grid.parts) * apart));
  traffic.loaded = std::min(traffic.requested, outer_bytes + inner_bytes + inner_again + outer_again + lost);
  return traffic;
}

}  // namespace moire::models::kernel
