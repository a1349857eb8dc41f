// A fused GEMM + ReduceScatter: what its kernels have in common, and the kernel that adds up the parts of tiles.
#pragma once

#include "models/workload/tensor_parallel/spec.hpp"

namespace moire::tensor_parallel {

// A part of the tiles of `owner` that a rank adds to others; `completes`: it is the last one before the rank puts the
// sum to the owner.
struct Fetched {
  Rank owner = 0;
  Rank source = 0;  // the rank that has computed or summed it
  bool completes = false;
};

struct ReduceScatterTerms {
  FusedLaunch launch;
  Rank ranks = 1;
  Mover mover = Mover::store;
  BlockOrder order{};
  FetchOrder fetch{};
  double element = 2;
  double buffered = 1;      // with store_beside: share of a tile that is stored while the next main loop runs
  double tile_spread = 0;   // standard deviation of the main loops over their mean
  double loaded_ahead = 1;  // share of a main loop whose stages are loaded before the loop begins
  Time written{};           // from the end of a bulk store in shared memory until the L2 has answered
  Time fence{};
  std::uint32_t queue_pairs = 1;
  Rank neighbours = 1;      // GPUs of a node
  std::int64_t relays = 0;  // workgroups of the fused kernel that put sums to other nodes
  // Flags at a relay: one per tile that the relay puts to other nodes, raised by every GPU of its node; with pull one
  // per tile and GPU of its node.
  program::FlagBlock gathered{};
  std::uint32_t most_tiles = 0;  // largest number of tiles of one owner
  // Flags at the owner of a tile: one per tile, raised by every source; with pull one per tile and source.
  program::FlagBlock arrived{};

  Rank places() const { return ranks / neighbours; }  // number of nodes
  bool turns(Rank by) const { return launch.order.turns() && (places() == 1 || by % neighbours == 0); }
  // With add: true if the kernel itself waits for the parts of other ranks, so that it needs no second kernel.
  bool ends_alone() const { return launch.gemm.schedule != libraries::Schedule::one_tile && places() == 1; }
  // Returns the GPU in the node of `rank` to which `rank` sends its parts of the tiles of `owner`: the owner or its
  // relay.
  Rank target(Rank rank, Rank owner) const { return rank - rank % neighbours + owner % neighbours; }
  // behind() returns the owner for which `relay` puts sums and which lies `place` nodes after the node of `relay`.
  // gathered_flag() returns the relay's flag for a tile of such an owner.
  Rank behind(Rank relay, Rank place) const { return (relay + place * neighbours) % ranks; }
  program::FlagRef gathered_flag(Rank relay, Rank owner, std::uint32_t tile, Rank source) const {
    const Rank place = (owner + ranks - relay) % ranks / neighbours;
    const std::uint32_t number = (place - 1) * most_tiles + tile;
    return gathered.at(relay, mover == Mover::pull ? number * neighbours + source % neighbours : number);
  }
  // Returns the number of parts that an owner adds up: one of each GPU of its node, and a sum of each other node.
  std::int64_t parts() const { return neighbours + places() - 1; }
  // Returns the number of a tile among the tiles of its owner, counted column by column.
  std::uint32_t number_of(Rank owner, std::int64_t slot, std::int64_t column) const {
    return static_cast<std::uint32_t>(column * launch.order.slots(owner) + slot);
  }
  program::FlagRef flag(Rank owner, std::uint32_t tile, Rank source) const {
    return arrived.at(owner, mover == Mover::pull ? tile * ranks + source : tile);
  }
  // Returns the share of a tile's main loop in the work of all. Two neighbours, whose loops differ from the mean, do as
  // much as two equal ones. The ranks do not differ, so that they can be folded.
  double main_loop(std::int64_t workgroup, std::int64_t number) const;
  double bytes(std::int64_t rows, std::int64_t column) const {
    return static_cast<double>(rows * launch.width(column)) * element;
  }
  // Returns the number of tiles that a rank owns. Columns of tiles beyond C, which exist only to fill clusters, do not
  // count.
  std::int64_t own_tiles(Rank rank) const { return launch.order.slots(rank) * launch.whole_columns(); }
  // With pull and by_source: returns what `rank` fetches after `turn` others, in the order in which it is computed. A
  // rank computes the tiles of one owner after those of the owner before, so that of all tiles of `rank` and of the
  // owners for which it relays, exactly one GPU of its node computes those of one owner at a time. (With in_order, all
  // ranks compute the tiles of one owner at about the same time.) The sums of other nodes come last.
  Fetched fetched(Rank rank, Rank turn) const {
    if (turn >= ranks) return {rank, behind(rank, turn - ranks + 1), false};
    const Rank later = order == BlockOrder::own_first ? 0 : 1, part = turn % neighbours;
    const Rank owner = behind(rank, turn / neighbours + later);
    const Rank source = rank - rank % neighbours + (rank + 2 * neighbours - later - part) % neighbours;
    return {owner, source, owner != rank && part + 1 == neighbours};
  }
  // Returns the number of tiles that `relay` puts to other nodes.
  std::int64_t relayed_tiles(Rank relay) const {
    std::int64_t all = 0;
    for (Rank place = 1; place < places(); ++place) all += own_tiles(behind(relay, place));
    return all;
  }
  double own_bytes(Rank rank, std::int64_t tile) const {
    const std::int64_t slots = launch.order.slots(rank);
    return bytes(launch.order.slot_rows(rank, tile % slots), tile / slots);
  }
};

// Fills `phase` with a step (0 to 3) of adding up a tile whose parts have been stored to `rank`: wait for the parts,
// load the flag, add, and put the sum to its owner if that is a rank of another node. `number` counts the tiles that
// `rank` relays, in the order of their owners' nodes, and then its own tiles. `relayed` and `own` are the shapes of
// adding.
void sum_step(const ReduceScatterTerms& terms, Rank rank, std::int64_t number, std::uint32_t step, Time load_latency,
              std::uint16_t relayed, std::uint16_t own, program::Phase& phase);
constexpr std::uint32_t sum_steps = 4;
// Fills `phase` with the put of a relay's sum of a tile to its owner.
void put_sum(const ReduceScatterTerms& terms, Rank relay, Rank owner, std::uint32_t tile, program::Phase& phase);

// Returns the demands of adding up `summed` parts by workgroups of `threads`, per byte of the result.
program::PhaseShape sum_shape(const builder::Builder& build, const char* name, std::int64_t summed, double result_bytes,
                              std::int64_t threads);

// Appends the second kernel, which adds up the parts. `result_bytes`: bytes of the rank's own rows of the result.
void append_sum(builder::Builder& build, const ReduceScatterTerms& terms, std::int64_t workgroups, double result_bytes);

}  // namespace moire::tensor_parallel
