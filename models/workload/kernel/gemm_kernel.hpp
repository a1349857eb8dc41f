// Which kernel a library chooses for a matrix product, and how many of its workgroups a GPU holds.
#pragma once

#include <cstdint>

#include "models/hardware/machine/spec.hpp"
#include "models/workload/libraries/gemm_library.hpp"
#include "sim/program/program.hpp"

namespace moire::kernel {

struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double element = 2;  // bytes of an element
};

struct GemmKernel {
  libraries::TileSpec tile;
  libraries::ClusterSpec cluster;
  std::int64_t split = 1;  // number of parts of k

  std::int64_t cluster_size() const { return cluster.m * cluster.n; }
};

// The grid of tiles. It consists of whole clusters, so some tiles may lie outside C.
struct TileGrid {
  TileGrid(const GemmShape& shape, const GemmKernel& kernel);
  std::int64_t rows;     // tiles along m
  std::int64_t columns;  // along n
  std::int64_t parts;    // of k, which run as separate tiles
  std::int64_t depth;    // length of a part along k, in whole steps of the tile
  std::int64_t tiles() const { return rows * columns * parts; }
};

// The LDS of a stage is sized for 16-bit elements; with wider ones a stage covers less of k.
program::WorkgroupResources resources_of(const libraries::GemmLibrarySpec& library, const GemmKernel& kernel);

// Workgroups that at most `cus` CUs hold at once; 0 if a cluster does not fit.
std::int64_t resident_workgroups(const machine::GpuSpec& gpu, const program::WorkgroupResources& resources,
                                 std::int64_t cus);

// Parameters that are already given. choose_kernel() returns the cheapest kernel on `cus` CUs by the library's own
// estimate (models/workload/libraries), among those that agree with them.
struct Preset {
  const libraries::TileSpec* tile = nullptr;
  const libraries::ClusterSpec* cluster = nullptr;
  std::int64_t split = 0;
  std::int64_t places_per_cu = 1;  // kernels of which a CU holds at least so many workgroups are preferred
};
GemmKernel choose_kernel(const GemmShape& shape, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                         std::int64_t cus, const Preset& preset = {});

}  // namespace moire::kernel
