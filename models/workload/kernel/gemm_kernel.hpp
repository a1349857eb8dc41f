// Which kernel a library takes for a matrix product, and how many of its workgroups a GPU holds.
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
  double element = 2;  // bytes
};

struct GemmKernel {
  libraries::TileSpec tile;
  libraries::ClusterSpec cluster;
  std::int64_t split = 1;  // parts of k

  std::int64_t cluster_size() const { return cluster.m * cluster.n; }
};

// The grid of tiles: whole clusters, so some tiles may lie outside of C.
struct TileGrid {
  TileGrid(const GemmShape& shape, const GemmKernel& kernel);
  std::int64_t rows;     // tiles along m
  std::int64_t columns;  // along n
  std::int64_t parts;    // of k
  std::int64_t depth;    // of a part: whole steps
  std::int64_t tiles() const { return rows * columns * parts; }
};

// The LDS of a step is that of 16-bit elements: steps of wider ones are shorter.
program::WorkgroupResources resources_of(const libraries::GemmLibrarySpec& library, const GemmKernel& kernel);

// Workgroups on at most `cus` CUs at once; 0 if a cluster does not fit.
std::int64_t resident_workgroups(const machine::GpuSpec& gpu, const program::WorkgroupResources& resources,
                                 std::int64_t cus);

// The kernel that the library's own costs make the cheapest on `cus` CUs (models/workload/libraries), among those that
// agree with what is set already.
struct Preset {
  const libraries::TileSpec* tile = nullptr;
  const libraries::ClusterSpec* cluster = nullptr;
  std::int64_t split = 0;
  std::int64_t places_per_cu = 1;  // kernels of which a CU holds fewer workgroups are left out if others hold so many
};
GemmKernel choose_kernel(const GemmShape& shape, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                         std::int64_t cus, const Preset& preset = {});

}  // namespace moire::kernel
