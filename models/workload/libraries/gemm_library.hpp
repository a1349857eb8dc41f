// A library of matrix products: the kernels it has, how they run and how it picks one. A file of configs/gemm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::libraries {

// The output tile of a workgroup and the steps in which it goes along k.
struct TileSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 64;      // of one step
  std::int64_t stages = 3;  // steps whose operands are under way or in use
  static void describe(config::Describer<TileSpec>& d);
};

// Tiles of a cluster of workgroups, which get the operands that they share once.
struct ClusterSpec {
  std::int64_t m = 1;
  std::int64_t n = 1;
  static void describe(config::Describer<ClusterSpec>& d);
};

// One workgroup a tile; or as many workgroups as the GPU holds, which take the next tile when they are done with one
// (persistent), walk over the tiles in equal steps (persistent_stride), or get equal shares of all k steps (stream_k).
enum class Schedule { one_tile, persistent, persistent_stride, stream_k };

// What the library takes a kernel to cost, whatever it takes on the GPU: in the library's units, times of the tile's
// parts. The cheapest is chosen.
struct ChoiceSpec {
  double small_tile = 0;  // extra arithmetic of a tile side of 64, half as much of 128...
  double loads = 1;       // weight of the time in which the L2 gives the operands
  double unshared = 0;    // share of operands that a cluster loads once but is charged for each of its workgroups
  double memory = 1;      // weight of the time in which the memory gives them
  double part_wave = 0;   // 0: a wave that is not full costs a whole one, 1: its share
  double store = 1;       // weight of the tile's store
  Time tile;              // of every tile
  double reduction = 1;   // weight of the kernel that adds up the parts of a split k
  Time single;            // extra of a tile whose workgroup is in no cluster
  Time large_cluster;     // extra of a tile in a cluster of more than four
  static void describe(config::Describer<ChoiceSpec>& d);
};

struct GemmLibrarySpec {
  std::string name = "generic";
  std::vector<std::string> tiles{"256x128x64x3", "128x256x64x3", "128x128x64x3", "128x64x64x3",
                                 "64x128x64x3",  "64x64x64x3",   "32x64x64x3"};
  std::vector<std::string> clusters{"1x1"};
  std::vector<std::int64_t> splits{1};  // parts of k, each of which gives whole tiles
  std::int64_t shortest_part = 512;     // of k
  std::int64_t threads = 256;
  std::optional<std::int64_t> registers_per_thread;  // absent: the sums of the tile and half as many, and 32
  Bytes lds;                                         // beside the stages
  Schedule schedule = Schedule::one_tile;
  std::int64_t fixed_tiles = 1;  // of a persistent workgroup, that its number tells; the others are taken
  std::int64_t interleave = 1;   // clusters 0, i, 2 i, ... have the first fixed tiles, then 1, i + 1, ...
  double main_loop = 1;          // share of the GPU's matrix rate
  Time start_up;                 // of a workgroup, until its pipeline is full
  Bytes store_in_flight{16 * 1024.0};
  bool store_beside = false;     // the store of a tile goes on beside the next tile's main loop
  std::int64_t k_spread = 1024;  // how far apart in k the workgroups of a wave are
  std::int64_t stripe = 1;       // rows of tiles that workgroups go along together (workgroup mapping)
  ChoiceSpec choice;
  static void describe(config::Describer<GemmLibrarySpec>& d);

  // The texts as what they say; those that say nothing are left out (describe has refused them).
  std::vector<TileSpec> kernels() const;
  std::vector<ClusterSpec> cluster_shapes() const;
};

}  // namespace moire::libraries
