// GEMMs of tensor parallelism with their collective. The ranks divide one dimension of the operands of a product C = A
// B among them, and each rank computes its share of the product. The fused schedules follow Flux (arXiv 2406.06858).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/kernel/gemm.hpp"
#include "models/workload/tensor_parallel/tile_order.hpp"

namespace moire::tensor_parallel {

// bulk_synchronous: GEMM and collective as two library kernels, one after the other. split: one GEMM for each rank's
// block of rows, while other blocks are copied around a ring. pipelined: the same with copies between all pairs of
// ranks, on two streams with barriers. fused: one kernel, which sends each tile when it is complete (reduce-scatter) or
// computes each tile when its rows have arrived (all-gather). gemm, communication: only one of the two parts of
// bulk_synchronous.
enum class Schedule { bulk_synchronous, split, pipelined, fused, gemm, communication };

// How a fused kernel moves data. A reduce-scatter sends tiles to their owner, the rank that keeps their rows: store (to
// a buffer of the owner, which sums the tiles), add (remote atomics on the owner's result) or pull (the owner loads
// tiles from the memory of its peers). An all-gather moves rows: copy_engine (DMA), push (workgroups of the kernel
// store rows to the peers) or pull (workgroups load rows from the peers).
enum class Mover { copy_engine, store, add, push, pull };

struct TensorParallelSpec {
  kernel::GemmSpec gemm;  // the product over all ranks together
  Schedule schedule = Schedule::bulk_synchronous;
  Mover mover = Mover::store;
  BlockOrder order = BlockOrder::own_first;
  std::optional<bool> store_beside{};  // absent: as in the GEMM library's kernels
  // The next three describe the collective of bulk_synchronous:
  collective::Engine engine = collective::Engine::cu;
  std::optional<std::int64_t> channels{};
  std::optional<libraries::LibrarySpec> library{};
};

// With pull: the order in which a rank fetches the partial tiles of its peers. by_source: first all tiles of one peer,
// then all tiles of another; the peers follow each other in the order in which they compute the rank's tiles. by_tile:
// for each tile the parts of all peers, beginning with the next rank (rank + 1).
enum class FetchOrder { by_source, by_tile };

// Every rank has k / ranks columns of A and as many rows of B. The partial products of all ranks are summed. Rank r
// keeps row block r of the sum C.
struct GemmReduceScatterSpec : TensorParallelSpec {
  std::int64_t sum_workgroups = 0;  // 0: as many as the GPU has CUs
  std::int64_t relay_cus = 0;       // between nodes: workgroups of the fused kernel that put sums to other nodes
  FetchOrder fetch = FetchOrder::by_source;
  std::optional<Bytes> store_buffer{};  // with store_beside: shared memory per workgroup; absent: as large as a tile
  GemmReduceScatterSpec() { order = BlockOrder::own_last; }
  static void describe(config::Describer<GemmReduceScatterSpec>& d);
};

// Rank r has row block r of A and n / ranks columns of B. It computes these columns of C, with all rows.
struct AllGatherGemmSpec : TensorParallelSpec {
  std::int64_t chunks = 1;              // communication tiles per rank's block of rows
  std::int64_t copy_streams = 1;        // copy_engine: concurrent streams, each for its share of the peers
  std::int64_t communication_cus = 16;  // push, pull: workgroups that move rows
  AllGatherGemmSpec() { mover = Mover::copy_engine; }
  static void describe(config::Describer<AllGatherGemmSpec>& d);
};

// Resources of a workgroup of the second kernel, which sums the parts that several ranks have computed of a tile.
inline constexpr program::WorkgroupResources sum_resources{.threads = 512, .registers_per_thread = 32, .lds = {}};

// Returns why the operator cannot run on the machine; nothing if it can. `cus`: number of CUs that kernels of the queue
// may use.
std::optional<config::Problem> check(const GemmReduceScatterSpec& spec, const libraries::EquippedSystem& system,
                                     std::int64_t cus);
std::optional<config::Problem> check(const AllGatherGemmSpec& spec, const libraries::EquippedSystem& system,
                                     std::int64_t cus);
// Append the operations of the spec's schedule. Their names begin with `name`, which may be empty.
void append(builder::Builder& build, const GemmReduceScatterSpec& spec, const std::string& name);
void append(builder::Builder& build, const AllGatherGemmSpec& spec, const std::string& name);

// own_product() returns the GEMM of one rank, and exchange_of() the collective over all ranks.
kernel::GemmSpec own_product(const GemmReduceScatterSpec& spec, Rank ranks);
kernel::GemmSpec own_product(const AllGatherGemmSpec& spec, Rank ranks);
collective::Collective exchange_of(const GemmReduceScatterSpec& spec, Rank ranks);
collective::Collective exchange_of(const AllGatherGemmSpec& spec, Rank ranks);

// Launch of a fused kernel. It does the GEMM of one rank, is never split along k, and computes the tiles in the order
// of the rank.
struct FusedLaunch {
  kernel::GemmLaunch gemm;
  TileOrder order;
  std::int64_t columns = 0;     // columns of C
  std::int64_t workgroups = 0;  // workgroups that compute tiles
  bool store_beside = false;
  // Returns the number of C's columns in a column of tiles; 0 if the column of tiles lies beyond C.
  std::int64_t width(std::int64_t column) const;
  std::int64_t whole_columns() const;  // columns of tiles that are not entirely beyond C
  // Returns the number of tiles of a workgroup. Workgroup w computes tiles w, w + workgroups, w + 2 workgroups, ...
  std::int64_t tiles_of(std::int64_t workgroup) const;
  TileOrder::Tile tile(Rank rank, std::int64_t workgroup, std::int64_t number) const {
    return order.at(rank, workgroup + number * workgroups);
  }
};
// Returns the launch of a fused kernel. `own`: the GEMM of one rank. `taken`: number of resident workgroups that move
// rows and do not compute tiles.
FusedLaunch fused_launch(const TensorParallelSpec& spec, const kernel::GemmSpec& own, const builder::Builder& build,
                         std::int64_t taken);

void append_fused(builder::Builder& build, const GemmReduceScatterSpec& spec, const std::string& name);
void append_fused(builder::Builder& build, const AllGatherGemmSpec& spec, const std::string& name);
void append_split(builder::Builder& build, const GemmReduceScatterSpec& spec);
void append_split(builder::Builder& build, const AllGatherGemmSpec& spec);
void append_pipelined(builder::Builder& build, const GemmReduceScatterSpec& spec);
void append_pipelined(builder::Builder& build, const AllGatherGemmSpec& spec);

// split and pipelined: the GEMM of one block of rows.
kernel::GemmSpec part_of(kernel::GemmSpec product, Rank ranks);
// split and pipelined: a builder that appends to `stream`.
builder::Builder of_stream(const builder::Builder& build, program::Queue& stream);

}  // namespace moire::tensor_parallel
