// Fused GEMM + ReduceScatter: the epilogue of a tile sends it to its owner, the rank that keeps its rows (Flux, arXiv
// 2406.06858, section 3.1).
//
// With store, the epilogue stores the tile into a buffer of the owner, which has space for the tiles of every source; a
// second kernel sums them. With add, it uses remote atomics on the owner's result. With pull, tiles stay in the memory
// of the rank that computed them. The owner's workgroups have a second strand (wavefronts with steps of their own),
// which loads and adds the tiles. Between nodes, the GPUs of a node first add up their parts of a tile on the owner's
// relay: the GPU that has the owner's index in this node. The relay puts the sum, so that a NIC carries one sum instead
// of a part of each GPU. With pull, the second strand relays. With store and add, either workgroups of the kernel relay
// while others compute (relay_cus), or the second kernel does so.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/tensor_parallel/reduce_scatter.hpp"

namespace moire::tensor_parallel {

namespace {

using kernel::GemmSpec;
using program::Phase;

class GemmBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { main_loop, store, store_to_peer, add, add_to_peer, fetch, relay, shapes };

  GemmBody(ReduceScatterTerms terms, Time load_latency)
      : terms_(std::move(terms)), pieces_(terms_.launch.order.most_pieces()), load_latency_(load_latency) {}

  std::int64_t workgroups(Rank) const override { return terms_.relays + terms_.launch.workgroups; }
  bool turns(Rank by) const override { return terms_.turns(by); }
  std::uint32_t strands(Rank) const override { return terms_.mover == Mover::pull ? 2 : 1; }
  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t step,
                    Phase& phase) const override {
    return strand == 0 ? this->phase(rank, workgroup, step, phase) : fetch_step(rank, workgroup, step, phase);
  }

  // Fills `phase` with a step of a workgroup. A tile has a main loop, stores, a fence, and a flag for each piece (the
  // rows of one owner). If stores overlap the next main loop, fence and flags follow that loop, before the next tile
  // needs the store buffer. The loop does the stages that are loaded before, waits until the stores have left the CU,
  // because its loads lie behind them, and does the rest.
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    // Workgroups that relay are placed on CUs first, because they wait for all others.
    if (workgroup < terms_.relays) return relay_step(rank, workgroup, step, phase);
    workgroup -= terms_.relays;
    if (step == 0) {
      phase.kind = Phase::Kind::delay;
      phase.instructions = true;
      phase.duration = terms_.launch.gemm.start_up;
      return true;
    }
    const auto pieces = static_cast<std::uint32_t>(pieces_);
    const std::uint32_t stored = beside() ? 2 * pieces : pieces;
    const std::uint32_t loop = beside() ? 3 : 1;
    const std::uint32_t each = loop + 1 + stored + pieces;
    const std::int64_t number = (step - 1) / each, tiles = terms_.launch.tiles_of(workgroup);
    std::uint32_t at = (step - 1) % each;
    const std::int64_t turns = tiles + (beside() ? 1 : 0);
    if (number >= turns) return wait_step(rank, workgroup, step - 1 - each * turns, phase);
    if (at < loop) {
      if (number < tiles) main_step(rank, workgroup, number, at, phase);
      return true;
    }
    at -= loop;
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
  bool leaves(Rank rank, const TileOrder::Tile& tile) const {
    const auto& all = terms_.launch.order.pieces(tile.row);
    return piece(tile, 0) != nullptr &&
           std::any_of(all.begin(), all.end(), [&](const Piece& own) { return !stays(rank, own.owner); });
  }
  bool stays(Rank rank, Rank owner) const { return terms_.mover == Mover::pull || terms_.target(rank, owner) == rank; }

  void main_step(Rank rank, std::int64_t workgroup, std::int64_t number, std::uint32_t part, Phase& phase) const {
    if (part == 1) {
      phase.kind = Phase::Kind::drain;
      return;
    }
    const bool waits = beside() && number > 0 && leaves(rank, terms_.launch.tile(rank, workgroup, number - 1));
    const double ahead = waits ? terms_.loaded_ahead : 1;
    phase.kind = Phase::Kind::work;
    phase.shape = main_loop;
    phase.amount = terms_.main_loop(workgroup, number) * (part == 0 ? ahead : 1 - ahead);
  }
  // A workgroup stores the pieces of a tile, which go to different owners, at the same time, and waits for the last
  // one; its fence waits for all. With store_beside, the share of a piece that fits into the store buffer is stored
  // while the next main loop runs, and the workgroup waits for the store of the rest.
  void store_step(Rank rank, const TileOrder::Tile& tile, std::size_t step, Phase& phase) const {
    const Piece* const own = piece(tile, beside() ? step / 2 : step);
    if (own == nullptr) return;
    phase.posted = beside() ? step % 2 == 1 : piece(tile, step + 1) != nullptr;
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
    phase.peer = terms_.target(rank, own->owner);
    phase.flag = phase.peer == own->owner ? terms_.flag(own->owner, there, rank)
                                          : terms_.gathered_flag(phase.peer, own->owner, there, rank);
  }

  bool relay_step(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const {
    const std::int64_t number = workgroup + step / sum_steps * terms_.relays;
    if (number >= terms_.relayed_tiles(rank)) return false;
    sum_step(terms_, rank, number, step % sum_steps, load_latency_, relay, relay, phase);
    return true;
  }

  // With add, the kernel ends when all parts of the rank's own rows have arrived; its workgroups share the waits. With
  // one tile per workgroup, workgroups that wait would keep others from the CUs, so the next kernel (SumBody) waits
  // instead.
  bool wait_step(Rank rank, std::int64_t workgroup, std::int64_t step, Phase& phase) const {
    if (terms_.mover != Mover::add || !terms_.ends_alone()) return false;
    const std::int64_t tile = workgroup + step * terms_.launch.workgroups;
    if (tile >= terms_.own_tiles(rank)) return false;
    phase.kind = Phase::Kind::wait;
    phase.flag = terms_.flag(rank, static_cast<std::uint32_t>(tile), rank);
    phase.target = terms_.ranks;
    return true;
  }

  // With pull, a workgroup waits for, loads and adds every part of its share of the tiles of each owner: those of its
  // own rank and those that the rank relays. When a relayed tile is complete, it puts the sum to the owner. The sums of
  // other nodes come last.
  bool fetch_step(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const {
    std::int64_t number = step / 4;
    if (terms_.fetch == FetchOrder::by_source) {
      for (Rank turn = 0; turn < terms_.ranks + terms_.places() - 1; ++turn) {
        const Fetched from = terms_.fetched(rank, turn);
        const std::int64_t tiles = share_of(terms_.own_tiles(from.owner), workgroup);
        if (number < tiles) return fetch_part(rank, from, workgroup, number, step % 4, phase);
        number -= tiles;
      }
      return false;
    }
    for (Rank place = 1; place <= terms_.places(); ++place) {
      const Rank owner = terms_.behind(rank, place), node = rank - rank % terms_.neighbours;
      const std::int64_t parts = owner == rank ? terms_.parts() : terms_.neighbours;
      const std::int64_t all = share_of(terms_.own_tiles(owner), workgroup) * parts;
      if (number < all) {
        const auto turn = static_cast<Rank>(number % parts);
        const Fetched from = turn < terms_.neighbours
                                 ? Fetched{owner, node + (rank + 1 + turn) % terms_.neighbours,
                                           owner != rank && turn + 1 == terms_.neighbours}
                                 : Fetched{owner, terms_.behind(rank, turn - terms_.neighbours + 1), false};
        return fetch_part(rank, from, workgroup, number / parts, step % 4, phase);
      }
      number -= all;
    }
    return false;
  }
  // Returns how many of `tiles` tiles, which the workgroups take in turn, are those of a workgroup.
  std::int64_t share_of(std::int64_t tiles, std::int64_t workgroup) const {
    return std::max<std::int64_t>(0, tiles - workgroup + terms_.launch.workgroups - 1) / terms_.launch.workgroups;
  }
  bool fetch_part(Rank rank, const Fetched& from, std::int64_t workgroup, std::int64_t number, std::uint32_t step,
                  Phase& phase) const {
    const auto tile = static_cast<std::uint32_t>(workgroup + number * terms_.launch.workgroups);
    if (step == 0) {
      phase.kind = Phase::Kind::wait;
      phase.flag = from.owner == rank ? terms_.flag(rank, tile, from.source)
                                      : terms_.gathered_flag(rank, from.owner, tile, from.source);
      phase.target = 1;
    } else if (step == 3) {
      if (from.completes) put_sum(terms_, rank, from.owner, tile, phase);
    } else if (step == 2 || (from.source != rank && from.source / terms_.neighbours == rank / terms_.neighbours)) {
      phase.kind = Phase::Kind::work;
      phase.shape = step == 1 ? fetch : add;
      phase.peer = step == 1 ? from.source : rank;
      phase.amount = terms_.own_bytes(from.owner, tile);
    }
    return true;
  }

  ReduceScatterTerms terms_;
  std::size_t pieces_;  // largest number of pieces of a row of tiles
  Time load_latency_;
};

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
    own.departures.beside = spec.store_beside.value_or(build.system.software.gemm.store_beside);
    own.departures.rate = port.payload_bandwidth();
  }
  const std::int64_t relays = ranks > neighbours && spec.mover != Mover::pull ? spec.relay_cus : 0;
  ReduceScatterTerms terms{.launch = fused_launch(spec, own, build, relays)};
  terms.relays = relays;
  terms.ranks = ranks;
  terms.neighbours = neighbours;
  terms.mover = spec.mover;
  terms.order = spec.order;
  terms.fetch = spec.fetch;
  terms.element = builder::bytes_of(spec.gemm.dtype);
  const libraries::TileSpec& tile = terms.launch.gemm.kernel.tile;
  const double tile_bytes = static_cast<double>(tile.m * tile.n) * terms.element;
  if (spec.store_buffer) terms.buffered = std::min(1., spec.store_buffer->value / tile_bytes);
  if (spec.mover != Mover::pull) terms.tile_spread = build.system.software.gemm.tile_spread;
  terms.loaded_ahead = std::min(1., static_cast<double>(tile.stages * tile.k) / static_cast<double>(own.k));
  terms.written = build.gpu().l2.hit_latency;
  terms.fence = build.gpu().port.fence + build.gpu().port.fence_beside_loads;
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
    const std::uint32_t sources = spec.mover == Mover::pull ? neighbours : 1;
    const std::uint32_t relayed = (terms.places() - 1) * terms.most_tiles * sources;
    terms.gathered = build.program.add_flags({kernel.name + ".gathered", relayed, raised_by});
  }
  const double result = terms.bytes(terms.launch.order.blocks().rows(0), 0) /
                        static_cast<double>(terms.launch.width(0)) * static_cast<double>(spec.gemm.n);
  kernel.shapes[GemmBody::relay] =
      sum_shape(build, "relay", terms.neighbours, result, terms.launch.gemm.resources.threads);
  kernel.body = std::make_shared<GemmBody>(terms, build.gpu().hbm.unloaded_latency);
  build.queue.operations.emplace_back(std::move(kernel));
  if (spec.mover == Mover::pull || (spec.mover == Mover::add && terms.ends_alone())) return;
  append_sum(build, terms, spec.sum_workgroups > 0 ? spec.sum_workgroups : build.cus(), result);
}

}  // namespace moire::tensor_parallel
