// Fused GEMM + ReduceScatter: the epilogue of a tile sends it to its owner, the rank that keeps its rows (Flux, arXiv
// 2406.06858, section 3.1).
//
// With store, the epilogue stores the tile into a buffer of the owner, which has space for the tiles of every source; a
// second kernel sums them. With add, it uses remote atomics on the owner's result. With pull, tiles stay in the memory
// of the rank that computed them. The owner's workgroups have a second strand (wavefronts with steps of their own),
// which loads and adds the tiles. Between nodes, the GPUs of a node first add up their parts of a tile on the owner's
// relay: the GPU that has the owner's index in this node. The relay puts the sum, so that a NIC carries one sum instead
// of a part of each GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/hardware/memory/cache.hpp"
#include "models/workload/tensor_parallel/spec.hpp"

namespace moire::tensor_parallel {

namespace {

using kernel::GemmSpec;
using program::Phase;

struct Terms {
  FusedLaunch launch;
  Rank ranks = 1;
  Mover mover = Mover::store;
  BlockOrder order{};
  FetchOrder fetch{};
  double element = 2;
  double buffered = 1;  // with store_beside: share of a tile that is stored while the next main loop runs
  Time written{};       // from the end of a bulk store in shared memory until the L2 has answered
  Time fence{};
  std::uint32_t queue_pairs = 1;
  Rank neighbours = 1;  // GPUs of a node
  // Flags at a relay: one per tile that the relay puts to other nodes, raised by every GPU of its node.
  program::FlagBlock gathered{};
  std::uint32_t most_tiles = 0;  // largest number of tiles of one owner
  // Flags at the owner of a tile: one per tile, raised by every source; with pull one per tile and source.
  program::FlagBlock arrived{};

  Rank places() const { return ranks / neighbours; }  // nodes
  bool turns(Rank by) const { return launch.order.turns() && (places() == 1 || by % neighbours == 0); }
  // With add: true if the kernel itself waits for the parts of other ranks, so that it needs no second kernel.
  bool ends_alone() const { return launch.gemm.schedule != libraries::Schedule::one_tile && places() == 1; }
  // Returns the GPU in the node of `rank` to which `rank` sends its parts of the tiles of `owner`: the owner or its
  // relay.
  Rank target(Rank rank, Rank owner) const { return rank - rank % neighbours + owner % neighbours; }
  // behind() returns the owner for which `relay` puts sums and which lies `place` nodes after the node of `relay`.
  // gathered_flag() returns the relay's flag for a tile of such an owner.
  Rank behind(Rank relay, Rank place) const { return (relay + place * neighbours) % ranks; }
  program::FlagRef gathered_flag(Rank relay, Rank owner, std::uint32_t tile) const {
    const Rank place = (owner + ranks - relay) % ranks / neighbours;
    return gathered.at(relay, (place - 1) * most_tiles + tile);
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
  double bytes(std::int64_t rows, std::int64_t column) const {
    return static_cast<double>(rows * launch.width(column)) * element;
  }
  // Returns the number of tiles that a rank owns. Columns of tiles beyond C, which exist only to fill clusters, do not
  // count.
  std::int64_t own_tiles(Rank rank) const { return launch.order.slots(rank) * launch.whole_columns(); }
  // Returns the rank (modulo ranks) that computes the tiles of `rank` before all others do. The rank before it computes
  // them next, and so on. With in_order, all ranks compute them at about the same time, so any rank could be the first.
  Rank makes_first(Rank rank) const { return order == BlockOrder::own_first ? rank : rank + ranks - 1; }
  double own_bytes(Rank rank, std::int64_t tile) const {
    const std::int64_t slots = launch.order.slots(rank);
    return bytes(launch.order.slot_rows(rank, tile % slots), tile / slots);
  }
};

class GemmBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { main_loop, store, store_to_peer, add, add_to_peer, fetch, shapes };

  explicit GemmBody(Terms terms) : terms_(std::move(terms)), pieces_(terms_.launch.order.most_pieces()) {}

  std::int64_t workgroups(Rank) const override { return terms_.launch.workgroups; }
  bool turns(Rank by) const override { return terms_.turns(by); }
  std::uint32_t strands(Rank) const override { return terms_.mover == Mover::pull ? 2 : 1; }
  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t step,
                    Phase& phase) const override {
    return strand == 0 ? this->phase(rank, workgroup, step, phase) : fetch_step(rank, workgroup, step, phase);
  }

  // Fills `phase` with a step of a workgroup. A tile has a main loop, stores, a fence, and a flag for each piece (the
  // rows of one owner). If stores overlap the next main loop, fence and flags follow that loop, before the next tile
  // needs the store buffer.
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    if (step == 0) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = terms_.launch.gemm.start_up;
      return true;
    }
    const auto pieces = static_cast<std::uint32_t>(pieces_);
    const std::uint32_t stored = beside() ? 2 * pieces : pieces;
    const std::uint32_t each = 2 + stored + pieces;
    const std::int64_t number = (step - 1) / each, tiles = terms_.launch.tiles_of(workgroup);
    std::uint32_t at = (step - 1) % each;
    const std::int64_t turns = tiles + (beside() ? 1 : 0);
    if (number >= turns) return wait_step(rank, workgroup, step - 1 - each * turns, phase);
    if (at == 0) {
      if (number < tiles) main_step(phase);
      return true;
    }
    --at;
    const std::uint32_t stores = beside() ? pieces + 1 : 0;  // offset of the first store
    if (at >= stores && at < stores + stored) {
      if (number < tiles) store_step(rank, terms_.launch.tile(rank, workgroup, number), at - stores, phase);
      return true;
    }
    const std::int64_t told = number - (beside() ? 1 : 0);
    if (told < 0) return true;
    const TileOrder::Tile tile = terms_.launch.tile(rank, workgroup, told);
    const std::uint32_t signals = (beside() ? 0 : pieces) + 1;
    if (at + 1 == signals) {
      fence_step(tile, phase);
    } else {
      signal_step(rank, tile, at - signals, phase);
    }
    return true;
  }

 private:
  bool beside() const { return terms_.launch.store_beside; }
  const Piece* piece(const TileOrder::Tile& tile, std::size_t number) const {
    const auto& all = terms_.launch.order.pieces(tile.row);
    return number < all.size() && terms_.launch.width(tile.column) > 0 ? &all[number] : nullptr;
  }
  bool stays(Rank rank, Rank owner) const { return terms_.mover == Mover::pull || terms_.target(rank, owner) == rank; }

  void main_step(Phase& phase) const {
    phase.kind = Phase::Kind::work;
    phase.shape = main_loop;
    phase.amount = 1 / static_cast<double>(terms_.launch.order.tiles());
  }
  // With store_beside, the share of a piece that fits into the store buffer is stored while the next main loop runs.
  // The workgroup waits for the store of the rest.
  void store_step(Rank rank, const TileOrder::Tile& tile, std::size_t step, Phase& phase) const {
    const Piece* const own = piece(tile, beside() ? step / 2 : step);
    if (own == nullptr) return;
    phase.posted = beside() && step % 2 == 1;
    const bool adds = terms_.mover == Mover::add;
    const bool here = stays(rank, own->owner);
    phase.kind = Phase::Kind::work;
    phase.shape = adds ? (here ? add : add_to_peer) : here ? store : store_to_peer;
    phase.peer = here ? rank : terms_.target(rank, own->owner);
    const double share = phase.posted ? terms_.buffered : beside() ? 1 - terms_.buffered : 1;
    phase.amount = share * terms_.bytes(own->rows, tile.column);
  }
  // The fence precedes all flags of a tile. The flag for the rank itself needs the fence, too, because the second
  // kernel reads the tile.
  void fence_step(const TileOrder::Tile& tile, Phase& phase) const {
    if (piece(tile, 0) == nullptr) return;
    phase.kind = Phase::Kind::fence;
    phase.duration = terms_.written + terms_.fence;
  }
  void signal_step(Rank rank, const TileOrder::Tile& tile, std::size_t number, Phase& phase) const {
    const Piece* const own = piece(tile, number);
    if (own == nullptr) return;
    const std::uint32_t there = terms_.number_of(own->owner, own->slot, tile.column);
    phase.kind = Phase::Kind::signal;
    phase.peer = terms_.mover == Mover::pull ? own->owner : terms_.target(rank, own->owner);
    phase.flag = phase.peer == own->owner ? terms_.flag(own->owner, there, rank)
                                          : terms_.gathered_flag(phase.peer, own->owner, there);
  }

  // With add, the kernel ends when all parts of the rank's own rows have arrived; its workgroups share the waits. With
  // one tile per workgroup, workgroups that wait would keep others from the CUs, so the next kernel (SumBody) waits
  // instead.
  bool wait_step(Rank rank, std::int64_t workgroup, std::int64_t step, Phase& phase) const {
    if (terms_.mover != Mover::add || !terms_.ends_alone()) return false;
    const std::int64_t tile = workgroup + step * terms_.launch.workgroups;
    if (tile >= terms_.own_tiles(rank)) return false;
    wait_for(rank, static_cast<std::uint32_t>(tile), rank, terms_.ranks, phase);
    return true;
  }
  void wait_for(Rank rank, std::uint32_t tile, Rank source, std::int64_t target, Phase& phase) const {
    phase.kind = Phase::Kind::wait;
    phase.flag = terms_.flag(rank, tile, source);
    phase.target = target;
  }

  // With pull, a workgroup waits for, loads and adds every part of its share of the rank's own tiles.
  bool fetch_step(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const {
    const std::int64_t own = terms_.own_tiles(rank);
    if (workgroup >= own) return false;
    const std::int64_t tiles = (own - workgroup + terms_.launch.workgroups - 1) / terms_.launch.workgroups;
    const std::int64_t number = step / 3;
    if (number >= tiles * terms_.ranks) return false;
    const bool by_tile = terms_.fetch == FetchOrder::by_tile;
    const auto turn = static_cast<Rank>(by_tile ? number % terms_.ranks : number / tiles);
    const std::int64_t tile = workgroup + (by_tile ? number / terms_.ranks : number % tiles) * terms_.launch.workgroups;
    const Rank source =
        by_tile ? (rank + 1 + turn) % terms_.ranks : (terms_.makes_first(rank) + terms_.ranks - turn) % terms_.ranks;
    const std::uint32_t part = step % 3;
    if (part == 0) {
      wait_for(rank, static_cast<std::uint32_t>(tile), source, 1, phase);
      return true;
    }
    if (part == 1 && source == rank) return true;
    phase.kind = Phase::Kind::work;
    phase.shape = part == 1 ? fetch : add;
    phase.peer = part == 1 ? source : rank;
    phase.amount = terms_.own_bytes(rank, tile);
    return true;
  }

  Terms terms_;
  std::size_t pieces_;  // largest number of pieces of a row of tiles
};

// The second kernel. It sums the parts of a tile as soon as all of them have arrived. However early they have arrived,
// a workgroup loads the tile's flag before it loads the parts. It begins with the tiles that the
// rank, as a relay, puts to other nodes; its own tiles follow. With add, remote atomics have already summed the parts
// of the node, so this kernel waits for them and adds only the sums that other nodes have put.
class SumBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { relayed, own };

  SumBody(Terms terms, std::int64_t workgroups, Time load_latency)
      : terms_(std::move(terms)), workgroups_(workgroups), load_latency_(load_latency) {}
  std::int64_t workgroups(Rank rank) const override { return std::min(workgroups_, tiles(rank)); }
  bool turns(Rank by) const override { return terms_.turns(by); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    std::int64_t number = workgroup + step / 4 * workgroups(rank);
    if (number >= tiles(rank)) return false;
    Rank place = 1;
    while (place < terms_.places() && number >= terms_.own_tiles(terms_.behind(rank, place)))
      number -= terms_.own_tiles(terms_.behind(rank, place++));
    const Rank owner = terms_.behind(rank, place);  // the rank itself if place is the number of nodes
    const bool relays = place < terms_.places();
    const auto tile = static_cast<std::uint32_t>(number);
    if (step % 4 == 0) {
      phase.kind = Phase::Kind::wait;
      phase.flag = relays ? terms_.gathered_flag(rank, owner, tile) : terms_.flag(rank, tile, rank);
      phase.target = relays ? terms_.neighbours : terms_.parts();
    } else if (step % 4 == 1) {
      phase.kind = Phase::Kind::delay;
      phase.duration = load_latency_;
    } else if (step % 4 == 2) {
      if (terms_.mover == Mover::add && (relays || terms_.places() == 1)) return true;
      phase.kind = Phase::Kind::work;
      phase.shape = relays ? relayed : own;
      phase.amount = terms_.own_bytes(owner, number);
      phase.peer = rank;
    } else if (relays) {
      phase.kind = Phase::Kind::put;
      phase.peer = owner;
      phase.bytes = Bytes{terms_.own_bytes(owner, number)};
      phase.flag = terms_.flag(owner, tile, rank);
      phase.queue_pair = tile % terms_.queue_pairs;
    }
    return true;
  }

 private:
  std::int64_t tiles(Rank rank) const {
    std::int64_t all = 0;
    for (Rank place = 0; place < terms_.places(); ++place) all += terms_.own_tiles(terms_.behind(rank, place));
    return all;
  }

  Terms terms_;
  std::int64_t workgroups_;
  Time load_latency_;
};

constexpr double bytes_per_load = 16;  // of a thread

// Instructions that a wavefront needs to add up its parts of a load and to store the sum. NVIDIA's profiler counted 227
// on an H200 (reduce_kernel, validation/flux/kernels.cu), whether 1 or 8 parts are summed, because the loop over the
// parts has a fixed length of 8.
constexpr double sum_instructions = 227;
constexpr double parts_of_a_loop = 8;

// Returns the demands of adding up `summed` parts, per byte of the result.
program::PhaseShape sum_shape(const builder::Builder& build, const char* name, std::int64_t summed,
                              double result_bytes) {
  program::PhaseShape shape;
  shape.name = name;
  shape.read = static_cast<double>(summed);
  // The parts were stored through the local L2, and are loaded in the order in which they were stored. An L2 that has
  // no room for all of them has lost each part before it is loaded.
  const Bytes parts{result_bytes * shape.read};
  shape.read_miss = memory::uniform_hit_ratio(build.gpu().l2, build.gpu().memory_side_cache, parts) < 1 ? 1 : 0;
  shape.write = 1;
  shape.pipelined = false;
  shape.in_flight = Bytes{static_cast<double>(sum_resources.threads) * bytes_per_load * shape.read};
  const double load = static_cast<double>(build.gpu().compute.wavefront) * bytes_per_load;
  shape.instructions = sum_instructions * std::ceil(shape.read / parts_of_a_loop) / load;
  return shape;
}

}  // namespace

void append_fused(builder::Builder& build, const GemmReduceScatterSpec& spec, const std::string& name) {
  const Rank ranks = build.ranks();
  GemmSpec own = own_product(spec, ranks);
  // If every workgroup has one tile, two workgroups per CU hide the store of one behind the main loop of the other.
  if (own.schedule.value_or(build.system.software.gemm.schedule) == libraries::Schedule::one_tile)
    own.places_per_cu = 2;
  const link::PortSpec& port = build.gpu().port;
  const Rank neighbours = build.reach().peers() + 1;
  if (spec.mover != Mover::pull && neighbours > 1) {
    own.departures.share = 1 - 1 / static_cast<double>(neighbours);
    own.departures.rate = port.link_bandwidth * (static_cast<double>(port.links) * port.payload_efficiency);
  }
  Terms terms{.launch = fused_launch(spec, own, build, 0)};
  terms.ranks = ranks;
  terms.neighbours = neighbours;
  terms.mover = spec.mover;
  terms.order = spec.order;
  terms.fetch = spec.fetch;
  terms.element = builder::bytes_of(spec.gemm.dtype);
  const libraries::TileSpec& tile = terms.launch.gemm.kernel.tile;
  const double tile_bytes = static_cast<double>(tile.m * tile.n) * terms.element;
  if (spec.store_buffer) terms.buffered = std::min(1., spec.store_buffer->value / tile_bytes);
  terms.written = build.gpu().l2.hit_latency;
  terms.fence = build.gpu().port.fence;
  if (build.system.node.nic) terms.queue_pairs = static_cast<std::uint32_t>(build.system.node.nic->queue_pairs);

  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = terms.launch.gemm.resources;
  kernel.shapes.resize(GemmBody::shapes);
  kernel.shapes[GemmBody::main_loop] = terms.launch.gemm.main_loop;
  program::PhaseShape& store = kernel.shapes[GemmBody::store];
  store = terms.launch.gemm.store;
  store.write = 1;
  program::PhaseShape& to_peer = kernel.shapes[GemmBody::store_to_peer];
  to_peer = store;
  to_peer.name = "store to peer";
  to_peer.write = 0;
  to_peer.peer_write = 1;
  // The stores are bulk copies from shared memory, so only port.store_window_per_cu limits the bytes that a CU has in
  // flight.
  to_peer.in_flight = Bytes{std::max(tile_bytes, store.in_flight.value)};
  program::PhaseShape& add = kernel.shapes[GemmBody::add];
  add = store;
  add.name = "add";
  add.read = 1;
  add.read_miss = store.write_miss;
  add.l2_extra = std::max(0., build.gpu().l2.bulk_add_cost - add.read - add.write);
  program::PhaseShape& add_to_peer = kernel.shapes[GemmBody::add_to_peer];
  add_to_peer = to_peer;
  add_to_peer.name = "add to peer";
  add_to_peer.peer_write_cost = port.payload_efficiency / port.add_efficiency.value_or(port.payload_efficiency);
  program::PhaseShape& fetch = kernel.shapes[GemmBody::fetch];
  fetch.name = "fetch";
  fetch.peer_read = 1;
  fetch.in_flight = Bytes{static_cast<double>(tile.n * tile.k) * terms.element};  // one stage of shared memory

  const std::int64_t tiles = terms.launch.order.most_slots() * terms.launch.order.sizes().columns;
  const std::int64_t flags = spec.mover == Mover::pull ? tiles * ranks : tiles;
  const auto raised_by = [name = kernel.name](Rank rank, std::uint32_t) { return std::pair{rank, name}; };
  terms.arrived = build.program.add_flags({kernel.name + ".arrived", static_cast<std::uint32_t>(flags), raised_by});
  if (terms.places() > 1) {
    terms.most_tiles = static_cast<std::uint32_t>(tiles);
    const std::uint32_t relayed = (terms.places() - 1) * terms.most_tiles;
    terms.gathered = build.program.add_flags({kernel.name + ".gathered", relayed, raised_by});
  }
  kernel.body = std::make_shared<GemmBody>(terms);
  build.queue.operations.emplace_back(std::move(kernel));
  if (spec.mover == Mover::pull || (spec.mover == Mover::add && terms.ends_alone())) return;

  program::Kernel sum;
  sum.name = build.unique("sum");
  sum.resources = sum_resources;
  const double result = terms.bytes(terms.launch.order.blocks().rows(0), 0) /
                        static_cast<double>(terms.launch.width(0)) * static_cast<double>(spec.gemm.n);
  // With add, the parts of a node have already been added up.
  const std::int64_t own_parts = spec.mover == Mover::add ? terms.places() : terms.parts();
  sum.shapes = {sum_shape(build, "relay", terms.neighbours, result), sum_shape(build, "sum", own_parts, result)};
  const std::int64_t workgroups = spec.sum_workgroups > 0 ? spec.sum_workgroups : build.cus();
  sum.body = std::make_shared<SumBody>(terms, workgroups, build.gpu().hbm.unloaded_latency);
  build.queue.operations.emplace_back(std::move(sum));
}

}  // namespace moire::tensor_parallel
