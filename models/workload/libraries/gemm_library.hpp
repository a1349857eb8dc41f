// The profile of a GEMM library states its kernels, how they run, and how the library chooses one. Each file of
// configs/gemm is one profile.
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

// The output tile of a workgroup, and its steps along k.
struct TileSpec {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 64;      // length of one step
  std::int64_t stages = 3;  // steps whose operands are in the LDS at once (loading or in use)
  static void describe(config::Describer<TileSpec>& d);
};

// Numbers of tiles of a cluster along m and n. Each workgroup of the cluster computes one of the tiles. An operand that
// several workgroups of the cluster need is loaded once for all of them.
struct ClusterSpec {
  std::int64_t m = 1;
  std::int64_t n = 1;
  static void describe(config::Describer<ClusterSpec>& d);
};

// one_tile: one workgroup per tile. The other schedules launch as many workgroups as the GPU holds. persistent: each
// workgroup first computes its fixed tiles (fixed_tiles), and then takes one tile after another from a counter.
// persistent_stride: workgroup w computes tiles w, w + workgroups, w + 2 workgroups, and so on. stream_k: the
// workgroups divide the steps along k of all tiles evenly.
enum class Schedule { one_tile, persistent, persistent_stride, stream_k };

// The library's own estimate of the cost of a kernel. The library chooses the kernel with the lowest cost. The
// simulated time of a kernel may differ from this estimate.
struct ChoiceSpec {
  double small_tile = 0;  // extra arithmetic, as a fraction, for each of the tile's two sides: this x 64 / side
  double loads = 1;       // weight of the time to load the operands from the L2
  double unshared = 0;    // fraction of a cluster's shared loads that is still counted for each of its workgroups
  double memory = 1;      // weight of the time to load the operands from memory
  double few = 0;         // the time to load from memory grows as CUs / workgroups to this power if CUs stay idle
  double part_wave = 0;   // cost of a partial last wave. 0: that of a whole wave; 1: only the share that is filled
  double store = 1;       // weight of the time to store the tile
  Time tile;              // extra time of every tile
  double reduction = 1;   // weight of the kernel that adds the parts of a split k
  Time single;            // extra time of a tile whose workgroup is in no cluster
  static void describe(config::Describer<ChoiceSpec>& d);
};

struct GemmLibrarySpec {
  std::string name = "generic";
  // Each entry describes a kernel by four numbers: m and n of its tile, the step along k, and the stages in the LDS.
  std::vector<std::string> tiles{"256x128x64x3", "128x256x64x3", "128x128x64x3", "128x64x64x3",
                                 "64x128x64x3",  "64x64x64x3",   "32x64x64x3"};
  std::vector<std::string> tiles_transposed;  // the same if B is stored as [n][k]; empty: `tiles`
  std::vector<std::string> clusters{"1x1"};   // tiles along m x tiles along n
  std::vector<std::int64_t> splits{1};  // numbers of parts into which k can be split; each part computes whole tiles
  std::int64_t shortest_part = 512;     // least length of a part of k
  std::int64_t threads = 256;
  std::optional<std::int64_t> registers_per_thread;  // absent: 1.5 per accumulator, plus 32
  Bytes lds;                                         // per workgroup, without the stages
  Schedule schedule = Schedule::one_tile;
  std::int64_t fixed_tiles = 1;  // persistent: a workgroup gets this many tiles by its number, others from a counter
  std::int64_t release_lag = 0;  // a stage's buffer is free when this many stages behind it have arrived
  double longest_in_step = 1;  // time of a stage above which workgroups do not load in step, / that of its slowest line
  std::int64_t interleave = 1;  // i: clusters 0, i, 2 i, ... get the first fixed tiles, then 1, i + 1, ...
  double main_loop = 1;         // fraction of the GPU's matrix rate that the main loop reaches
  double tile_spread = 0;       // standard deviation of the main loops of a wave, / their mean
  Time start_up;                // from a workgroup's start until its pipeline is full
  Time start_up_behind_wait;    // the part of start_up that follows the wait of a workgroup for rows of other GPUs
  Time start_up_of_mover;       // from the start of a workgroup that moves rows until its first load
  // Bytes of its tile that a workgroup has in flight while it stores the tile; absent: as many as a CU can have of
  // stores to peers (port.store_window_per_cu), as with bulk stores from shared memory
  std::optional<Bytes> store_in_flight;
  bool store_beside = false;  // the store of a tile overlaps the next tile's main loop
  // Tiles are computed in stripes, which are filled column by column (workgroup mapping). A stripe has `stripe` rows of
  // tiles, or as many as cover `stripe_rows` rows of C.
  std::int64_t stripe = 1;
  std::int64_t stripe_rows = 1;
  double loaded_again = 0;  // share of the loads that workgroups of a wave share
  // persistent_stride: workgroups of slower CUs fall behind by as much in every wave. Shares of the same loads that are
  // loaded again besides: of each wave of the kernel, in the mean over the kernel, where the panels of a wave are twice
  // as large as the cache; and of workgroups that are completely out of step.
  double stride_drift = 0;
  double stride_drift_most = 0;
  // persistent_stride, tiles that are stored to other GPUs: in every wave, the workgroups that store first find the
  // links idle, and wait less than the others. The first two values say how far workgroups get apart by this in each
  // wave, and how far at most, as multiples of the time in which the links take the tiles of a wave; the third, in how
  // many waves they stay in step before. The fourth is the share of the loads above that is loaded again if the cache
  // holds nothing of the panels of this time; the fifth is the same for workgroups that store a tile while they compute
  // the next one.
  double stagger_per_wave = 0;
  double stagger_most = 0;
  double stagger_after = 0;
  double stagger_reload = 0;
  double stagger_reload_beside = 0;
  ChoiceSpec choice;
  static void describe(config::Describer<GemmLibrarySpec>& d);

  // Return the entries of `tiles` and `clusters` as numbers. Invalid entries are left out; describe() reports them.
  std::vector<TileSpec> kernels(bool transposed_b) const;
  std::vector<ClusterSpec> cluster_shapes() const;
};

}  // namespace moire::libraries
