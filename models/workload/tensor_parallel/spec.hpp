// Matrix products of tensor parallelism with their collective: C = A B over all ranks, each of which has a share of one
// side. After Flux (arXiv 2406.06858).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/kernel/gemm.hpp"
#include "models/workload/tensor_parallel/tile_order.hpp"

namespace moire::tensor_parallel {

// bulk_synchronous: the library's two kernels, one after the other. split: a GEMM for each rank's rows beside copies of
// the others. fused: one kernel whose tiles are sent, or waited for, one by one. gemm, communication: the parts of
// bulk_synchronous, each alone.
enum class Schedule { bulk_synchronous, split, fused, gemm, communication };

// What moves the fused kernel's tiles. Of a reduce-scatter: store (to a buffer of the owner, which sums), add (remote
// atomics into the owner's result), pull (the owner loads what peers have in their memories). Of an all-gather: copy
// engines, or workgroups of the kernel that store to peers (push) or load from them (pull).
enum class Mover { copy_engine, store, add, push, pull };

struct TensorParallelSpec {
  kernel::GemmSpec gemm;  // of all ranks together
  Schedule schedule = Schedule::bulk_synchronous;
  Mover mover = Mover::store;
  BlockOrder order = BlockOrder::own_first;
  std::optional<bool> store_beside{};  // absent: as the GEMM library's kernels
  // The collective of bulk_synchronous
  collective::Engine engine = collective::Engine::cu;
  std::optional<std::int64_t> channels{};
  std::optional<libraries::LibrarySpec> library{};
};

// pull: which parts of its tiles a rank fetches first. by_source: of all tiles those of one peer, the peers in the
// order in which they make the rank's tiles; by_tile: tile after tile those of all peers, from the next rank on.
enum class FetchOrder { by_source, by_tile };

// C is summed over ranks, each of which has k / ranks columns of A and rows of B; rank r keeps block r of C's rows.
struct GemmReduceScatterSpec : TensorParallelSpec {
  std::int64_t sum_workgroups = 0;  // 0: as many as the GPU has CUs
  FetchOrder fetch = FetchOrder::by_source;
  GemmReduceScatterSpec() { order = BlockOrder::own_last; }
  static void describe(config::Describer<GemmReduceScatterSpec>& d);
};

// Rank r has block r of A's rows and n / ranks columns of B, and makes as many of C.
struct AllGatherGemmSpec : TensorParallelSpec {
  std::int64_t chunks = 1;              // of a rank's rows: communication tiles
  std::int64_t copy_streams = 1;        // copy_engine: side by side, each with its share of the peers
  std::int64_t communication_cus = 16;  // push, pull: workgroups that move
  AllGatherGemmSpec() { mover = Mover::copy_engine; }
  static void describe(config::Describer<AllGatherGemmSpec>& d);
};

// What does not fit the machine, and what would.
std::optional<config::Problem> check(const GemmReduceScatterSpec& spec, const libraries::EquippedSystem& system);
std::optional<config::Problem> check(const AllGatherGemmSpec& spec, const libraries::EquippedSystem& system);
// `name` begins the names of the operations; it may be empty.
void append(builder::Builder& build, const GemmReduceScatterSpec& spec, const std::string& name);
void append(builder::Builder& build, const AllGatherGemmSpec& spec, const std::string& name);

// What one rank computes.
kernel::GemmSpec own_product(const GemmReduceScatterSpec& spec, Rank ranks);
kernel::GemmSpec own_product(const AllGatherGemmSpec& spec, Rank ranks);
collective::Collective exchange_of(const GemmReduceScatterSpec& spec, Rank ranks);
collective::Collective exchange_of(const AllGatherGemmSpec& spec, Rank ranks);

// How the fused kernel runs: the GEMM of one rank, never split along k, its tiles in the rank's order.
struct FusedLaunch {
  kernel::GemmLaunch gemm;
  TileOrder order;
  std::int64_t columns = 0;     // of C
  std::int64_t workgroups = 0;  // that compute
  bool store_beside = false;
  // Of C in a column of tiles.
  std::int64_t width(std::int64_t column) const;
  std::int64_t whole_columns() const;  // of tiles, without those that lie beyond C
  // Of the tiles that workgroup w has: w, w + workgroups, ...
  std::int64_t tiles_of(std::int64_t workgroup) const;
  TileOrder::Tile tile(Rank rank, std::int64_t workgroup, std::int64_t number) const {
    return order.at(rank, workgroup + number * workgroups);
  }
};
// `taken`: places of workgroups that others have.
FusedLaunch fused_launch(const TensorParallelSpec& spec, const kernel::GemmSpec& own, const builder::Builder& build,
                         std::int64_t taken);

void append_fused(builder::Builder& build, const GemmReduceScatterSpec& spec, const std::string& name);
void append_fused(builder::Builder& build, const AllGatherGemmSpec& spec, const std::string& name);
void append_split(builder::Builder& build, const GemmReduceScatterSpec& spec);
void append_split(builder::Builder& build, const AllGatherGemmSpec& spec);

}  // namespace moire::tensor_parallel
