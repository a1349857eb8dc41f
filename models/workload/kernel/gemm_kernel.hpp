// Chooses a library's kernel for a matrix product, and counts how many of its workgroups a GPU holds.
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
  double element = 2;         // bytes of an element
  bool transposed_b = false;  // B is stored as [n][k]
};

struct GemmKernel {
  libraries::TileSpec tile;
  libraries::ClusterSpec cluster;
  std::int64_t split = 1;   // number of parts of k
  std::int64_t stripe = 0;  // rows of tiles in a stripe; 0: as in the kernels of the library

  std::int64_t cluster_size() const { return cluster.m * cluster.n; }
};

// The grid of tiles. It consists of whole clusters, so some tiles may lie outside C.
struct TileGrid {
  TileGrid(const GemmShape& shape, const GemmKernel& kernel);
  std::int64_t rows;     // tiles along m
  std::int64_t columns;  // tiles along n
  std::int64_t parts;    // parts of k, which run as separate tiles
  std::int64_t depth;    // length of a part along k, in whole steps of the tile
  std::int64_t tiles() const { return rows * columns * parts; }
};

// Returns the resources of a workgroup of the kernel. The LDS of a stage (the operands of one step along k) is sized
// for 16-bit elements; with wider elements, a stage covers fewer elements of k.
program::WorkgroupResources resources_of(const libraries::GemmLibrarySpec& library, const GemmKernel& kernel);

// Returns the rate of a CU in the library's main loop, in FLOP/s at the GPU's own clock.
double main_loop_rate(const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library);

// Returns the number of workgroups that at most `cus` CUs hold at once; 0 if a cluster does not fit.
std::int64_t resident_workgroups(const machine::GpuSpec& gpu, const program::WorkgroupResources& resources,
                                 std::int64_t cus);

// Parameters of the kernel that are given in advance. If one is null or 0, the library chooses it. choose_kernel()
// returns the kernel that has these parameters and the lowest cost on `cus` CUs. The costs are the library's own
// estimates (models/workload/libraries).
struct Preset {
  const libraries::TileSpec* tile = nullptr;
  const libraries::ClusterSpec* cluster = nullptr;
  std::int64_t split = 0;
  std::int64_t places_per_cu = 1;  // kernels of which a CU holds at least this many workgroups are preferred
};
GemmKernel choose_kernel(const GemmShape& shape, const machine::GpuSpec& gpu, const libraries::GemmLibrarySpec& library,
                         std::int64_t cus, const Preset& preset = {});

}  // namespace moire::kernel
