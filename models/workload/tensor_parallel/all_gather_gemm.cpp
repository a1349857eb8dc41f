// Fused AllGather + GEMM: workgroups wait for the flags of the rows of A that their tile needs (Flux, arXiv 2406.06858,
// section 3.2).
//
// Rows arrive in communication tiles (chunks). Either copy engines move them while the kernel runs, or workgroups of
// the kernel store them to the peers (push) or load them from the peers (pull). Neighbours are GPUs that can store to
// each other. One workgroup puts a rank's rows to the GPU of the same index in every other group of neighbours. That
// GPU forwards the rows within its group.
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/memory/cache.hpp"
#include "models/workload/tensor_parallel/spec.hpp"

namespace moire::tensor_parallel {

namespace {

using program::Phase;

// The rows of A of all ranks, divided into communication tiles (chunks), and how they get to the other ranks.
struct Rows {
  RowBlocks blocks{1, 1};
  Rank neighbours = 1;  // size of a group of neighbours, the rank included
  std::int64_t chunks = 1;
  double row_bytes = 0;
  std::int64_t movers = 0;  // workgroups that move rows; 0: copy engines move them
  bool pulled = false;
  program::FlagBlock arrived;  // one flag per chunk of every rank

  Rank ranks() const { return blocks.ranks(); }
  Rank places() const { return ranks() / neighbours; }
  std::int64_t first(Rank rank, std::int64_t chunk) const {
    return blocks.first(rank) + blocks.rows(rank) * chunk / chunks;
  }
  Bytes bytes(Rank rank, std::int64_t chunk) const {
    return Bytes{static_cast<double>(first(rank, chunk + 1) - first(rank, chunk)) * row_bytes};
  }
  program::FlagRef flag(Rank rank, Rank source, std::int64_t chunk) const {
    return arrived.at(rank, static_cast<std::uint32_t>(source * chunks + chunk));
  }
  // Returns how often the flag of a chunk of `source` is raised at `rank`: once by a copy or a put, or once by each
  // workgroup that moves rows.
  std::int64_t target(Rank rank, Rank source) const {
    return movers == 0 || rank % neighbours == source % neighbours ? 1 : movers;
  }
  // below() and above() return rank r - t and rank r + t, counted cyclically within the group of rank r. Every rank
  // sends to r - 1, r - 2, ..., so it gets rows from r + 1, r + 2, ... in this order.
  Rank below(Rank rank, Rank t) const {
    return rank - rank % neighbours + (rank % neighbours + neighbours - t) % neighbours;
  }
  Rank above(Rank rank, Rank t) const { return rank - rank % neighbours + (rank % neighbours + t) % neighbours; }
  // Returns the rank whose rows `rank` sends to its neighbours. With place 0 it is the rank itself. With place p it is
  // the rank of the same index in the p-th group after the rank's group.
  Rank handed_on(Rank rank, Rank place) const { return (rank + place * neighbours) % ranks(); }
};

class FusedBody final : public program::KernelBody {
 public:
  enum Shape : std::uint16_t { main_loop, store, push, pull, lone_main_loop, shapes };
  struct Needed {
    Rank source;
    std::int64_t chunk;
  };

  FusedBody(FusedLaunch launch, Rows rows, const libraries::GemmLibrarySpec& library, Time fence,
            std::uint32_t queue_pairs)
      : launch_(std::move(launch)),
        rows_(std::move(rows)),
        behind_wait_(library.start_up_behind_wait),
        mover_start_up_(library.start_up_of_mover),
        fence_(fence),
        queue_pairs_(queue_pairs) {
    in_step_ = launch_.order.rows_of_block() > 1;
    const TileOrder& order = launch_.order;
    needed_.resize(static_cast<std::size_t>(order.sizes().tile_rows));
    for (std::int64_t row = 0; row < order.sizes().tile_rows; ++row) {
      std::vector<Needed>& all = needed_[static_cast<std::size_t>(row)];
      std::int64_t at = row * order.sizes().tile_m;
      for (const Piece& piece : order.pieces(row)) {
        for (std::int64_t chunk = 0; chunk < rows_.chunks; ++chunk) {
          const std::int64_t first = rows_.first(piece.owner, chunk), end = rows_.first(piece.owner, chunk + 1);
          if (first < end && first < at + piece.rows && at < end) all.push_back({piece.owner, chunk});
        }
        at += piece.rows;
      }
      most_needed_ = std::max(most_needed_, static_cast<std::uint32_t>(all.size()));
    }
  }

  std::int64_t senders() const { return rows_.places() > 1 ? 1 : 0; }
  std::int64_t workgroups(Rank) const override { return rows_.movers + senders() + launch_.workgroups; }
  bool turns(Rank by) const override {
    return launch_.order.turns() && (rows_.places() == 1 || by % rows_.neighbours == 0) &&
           rows_.blocks.rows(0) % rows_.chunks == 0;
  }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    // The workgroup that puts is placed on a CU first, because workgroups of other groups wait for its puts. If there
    // are few CUs, these might otherwise be full of workgroups that wait.
    if (workgroup < senders()) return send_step(rank, step, phase);
    workgroup -= senders();
    if (workgroup < rows_.movers) {
      if (step == 0) return start(mover_start_up_, phase);
      return rows_.pulled ? pull_step(rank, step - 1, phase) : push_step(rank, step - 1, phase);
    }
    return compute_step(rank, workgroup - rows_.movers, step, phase);
  }

 private:
  bool compute_step(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const {
    if (step == 0) return start(launch_.gemm.start_up - behind_wait_, phase);
    const std::uint32_t each = most_needed_ + 3, part = (step - 1) % each;
    const std::int64_t number = (step - 1) / each;
    if (number >= launch_.tiles_of(workgroup)) return false;
    const TileOrder::Tile tile = launch_.tile(rank, workgroup, number);
    const std::vector<Needed>& all = needed_[static_cast<std::size_t>(tile.row)];
    if (part < most_needed_) {
      if (part >= all.size() || all[part].source == rank) return true;
      wait(rank, all[part].source, all[part].chunk, phase);
      return true;
    }
    if (part == most_needed_) return number > 0 || start(behind_wait_, phase);
    phase.kind = Phase::Kind::work;
    phase.shape = part == most_needed_ + 1 ? main_loop : store;
    phase.posted = phase.shape == store && launch_.store_beside;
    if (phase.shape == main_loop && in_step_) phase.panel = launch_.order.panel(tile);
    phase.amount = 1 / static_cast<double>(launch_.order.tiles());
    return true;
  }

  static bool start(Time duration, Phase& phase) {
    if (duration == Time{}) return true;
    phase.kind = Phase::Kind::delay;
    phase.instructions = true;
    phase.duration = duration;
    return true;
  }

  void wait(Rank rank, Rank source, std::int64_t chunk, Phase& phase) const {
    phase.kind = Phase::Kind::wait;
    phase.flag = rows_.flag(rank, source, chunk);
    phase.target = rows_.target(rank, source);
  }

  // Fills `phase` with a step of a workgroup that stores its share of every chunk to the neighbours: first of the
  // rank's own chunks, then of the chunks that other groups have put to the rank.
  bool push_step(Rank rank, std::uint32_t step, Phase& phase) const {
    const auto peers = static_cast<std::int64_t>(rows_.neighbours - 1);
    const std::int64_t part = step % 3, number = step / 3;
    const std::int64_t place = number / (peers * rows_.chunks),
                       within = number % std::max<std::int64_t>(1, peers * rows_.chunks);
    if (peers == 0 || place >= rows_.places()) return false;
    const Rank source = rows_.handed_on(rank, static_cast<Rank>(place));
    // The rank's own rows go peer by peer; a chunk from another group goes to all peers before the next chunk.
    const std::int64_t chunk = place == 0 ? within % rows_.chunks : within / peers;
    const auto turn = static_cast<Rank>(1 + (place == 0 ? within / rows_.chunks : within % peers));
    if (rows_.bytes(source, chunk).value == 0) return true;
    const Rank peer = rows_.below(rank, turn);
    if (part == 0) {
      if (place > 0) wait(rank, source, chunk, phase);
    } else if (part == 1) {
      move(push, peer, source, chunk, phase);
    } else {
      tell(peer, peer, source, chunk, phase);
    }
    return true;
  }

  bool pull_step(Rank rank, std::uint32_t step, Phase& phase) const {
    const std::int64_t part = step % 2, number = step / 2;
    const auto turn = static_cast<Rank>(1 + number / rows_.chunks);
    if (turn >= rows_.neighbours) return false;
    const Rank source = rows_.above(rank, turn);
    const std::int64_t chunk = number % rows_.chunks;
    if (rows_.bytes(source, chunk).value == 0) return true;
    if (part == 0) {
      move(pull, source, source, chunk, phase);
    } else {
      tell(rank, rank, source, chunk, phase);
    }
    return true;
  }

  void move(Shape shape, Rank peer, Rank source, std::int64_t chunk, Phase& phase) const {
    phase.kind = Phase::Kind::work;
    phase.shape = shape;
    phase.peer = peer;
    phase.amount = rows_.bytes(source, chunk).value / static_cast<double>(rows_.movers);
  }
  // One thread executes a fence and raises the flag, while the others go on with the next rows.
  void tell(Rank peer, Rank at, Rank source, std::int64_t chunk, Phase& phase) const {
    phase.kind = Phase::Kind::signal;
    phase.duration = fence_;
    phase.in_turn = true;
    phase.peer = peer;
    phase.flag = rows_.flag(at, source, chunk);
  }

  bool send_step(Rank rank, std::uint32_t step, Phase& phase) const {
    const auto place = static_cast<Rank>(1 + step / rows_.chunks);
    if (place >= rows_.places()) return false;
    const std::int64_t chunk = step % rows_.chunks;
    phase.bytes = rows_.bytes(rank, chunk);
    if (phase.bytes.value == 0) return true;
    phase.kind = Phase::Kind::put;
    phase.peer = (rank + rows_.ranks() - place * rows_.neighbours) % rows_.ranks();
    phase.flag = rows_.flag(phase.peer, rank, chunk);
    phase.queue_pair = static_cast<std::uint32_t>(chunk) % queue_pairs_;
    return true;
  }

  FusedLaunch launch_;
  Rows rows_;
  Time behind_wait_, mover_start_up_;
  Time fence_;
  std::uint32_t queue_pairs_;
  std::vector<std::vector<Needed>> needed_;  // chunks needed by each row of tiles
  std::uint32_t most_needed_ = 0;
  bool in_step_ = false;  // several tiles of a column follow each other and share the panel of B that they load
};

// Appends the copies of one stream. Of the peers r - 1, r - 2, ... of a rank r, it serves number `first` and then every
// `streams`-th one. It copies the rank's own rows peer by peer, then the rows that other groups have put to the rank,
// chunk by chunk.
void append_copies(const builder::Builder& build, const Rows& rows, Rank first, Rank streams, program::Queue& stream) {
  // Returns one bit per rank: true if the chunk that the rank copies has rows. The other ranks neither copy nor wait.
  const auto with_rows = [&rows](Rank place, std::int64_t chunk) {
    auto ranks = std::make_shared<std::vector<bool>>();
    for (Rank rank = 0; rank < rows.ranks(); ++rank)
      ranks->push_back(rows.bytes(rows.handed_on(rank, place), chunk).value > 0);
    return ranks;
  };
  const auto copy = [&](Rank place, std::int64_t chunk, Rank turn) {
    const auto transfer = [rows, place, chunk, turn](Rank rank) {
      const Rank source = rows.handed_on(rank, place), peer = rows.below(rank, turn);
      return program::Transfer{peer, rows.bytes(source, chunk), rows.flag(peer, source, chunk)};
    };
    stream.operations.emplace_back(program::Copy{build.unique("rows"), transfer, {}, with_rows(place, chunk)});
  };
  for (Rank turn = first; turn < rows.neighbours; turn += streams)
    for (std::int64_t chunk = 0; chunk < rows.chunks; ++chunk) copy(0, chunk, turn);
  for (Rank place = 1; place < rows.places(); ++place) {
    for (std::int64_t chunk = 0; chunk < rows.chunks; ++chunk) {
      stream.operations.emplace_back(
          program::Wait{build.unique("rows_put"),
                        [rows, place, chunk](Rank rank) { return rows.flag(rank, rows.handed_on(rank, place), chunk); },
                        1, with_rows(place, chunk)});
      for (Rank turn = first; turn < rows.neighbours; turn += streams) copy(place, chunk, turn);
    }
  }
}

}  // namespace

void append_fused(builder::Builder& build, const AllGatherGemmSpec& spec, const std::string& name) {
  const Rank ranks = build.ranks();
  Rows rows;
  rows.blocks = RowBlocks(spec.gemm.m, ranks);
  rows.neighbours = build.reach().peers() + 1;
  rows.chunks = spec.chunks;
  rows.row_bytes = static_cast<double>(spec.gemm.k) * builder::bytes_of(spec.gemm.dtype);
  rows.movers = spec.mover == Mover::copy_engine || rows.neighbours == 1 ? 0 : spec.communication_cus;
  rows.pulled = spec.mover == Mover::pull;
  const std::int64_t taken = rows.movers + (rows.places() > 1 ? 1 : 0);
  kernel::GemmSpec own = own_product(spec, ranks);
  own.blocks_arrive = true;
  const FusedLaunch launch = fused_launch(spec, own, build, taken);

  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = launch.gemm.resources;
  kernel.shapes.resize(FusedBody::shapes);
  kernel.shapes[FusedBody::main_loop] = launch.gemm.main_loop;
  kernel.shapes[FusedBody::store] = launch.gemm.store;
  // Workgroups that have waited for different chunks stay out of step afterwards. If the caches lose a part of a panel
  // of B between its uses by two workgroups, the second workgroup loads this part again. The shape lone_main_loop
  // contains these loads.
  program::PhaseShape& loop = kernel.shapes[FusedBody::main_loop];
  loop.residence = memory::residence(build.gpu().l2, build.gpu().memory_side_cache, build.gpu().hbm.bandwidth);
  loop.out_of_step = FusedBody::lone_main_loop;
  program::PhaseShape& lone = kernel.shapes[FusedBody::lone_main_loop];
  lone = launch.gemm.main_loop;
  lone.name = "tile out of step";
  const double columns =
      static_cast<double>(launch.gemm.kernel.tile.n * spec.gemm.k) * builder::bytes_of(spec.gemm.dtype);
  const double requested = lone.read / static_cast<double>(launch.order.tiles());
  lone.read_miss = std::min(1., lone.read_miss + columns / requested);
  constexpr double loaded_at_once = 16 * 4;  // bytes per thread: four loads of 16 B
  for (const auto number : {FusedBody::push, FusedBody::pull}) {
    program::PhaseShape& shape = kernel.shapes[number];
    shape.pipelined = false;
    shape.in_flight = Bytes{static_cast<double>(launch.gemm.resources.threads) * loaded_at_once};
  }
  program::PhaseShape& push = kernel.shapes[FusedBody::push];
  push.name = "push rows";
  push.read = 1;
  push.peer_write = 1;
  program::PhaseShape& pull = kernel.shapes[FusedBody::pull];
  pull.name = "pull rows";
  pull.peer_read = 1;
  pull.write = 1;
  const auto raised_by = [name = kernel.name, chunks = spec.chunks](Rank, std::uint32_t index) {
    return std::pair{static_cast<Rank>(index / chunks), name};
  };
  rows.arrived =
      build.program.add_flags({kernel.name + ".rows", static_cast<std::uint32_t>(ranks * spec.chunks), raised_by});
  const std::uint32_t queue_pairs =
      build.system.node.nic ? static_cast<std::uint32_t>(build.system.node.nic->queue_pairs) : 1;
  const bool engines = spec.mover == Mover::copy_engine;
  const auto& port = build.gpu().port;
  const Time fence = rows.pulled ? port.fence : port.fence + port.store_return;
  kernel.body = std::make_shared<FusedBody>(launch, rows, build.system.software.gemm, fence, queue_pairs);
  // The copy streams start before the kernel. After the kernel, the queue waits for their end.
  const Rank streams = engines ? std::min(static_cast<Rank>(spec.copy_streams), rows.neighbours - 1) : 0;
  std::vector<program::Queue*> copies;
  for (Rank stream = 0; stream < streams; ++stream) copies.push_back(&build.fork("copies"));
  build.queue.operations.emplace_back(std::move(kernel));
  for (Rank stream = 0; stream < streams; ++stream) append_copies(build, rows, 1 + stream, streams, *copies[stream]);
  for (program::Queue* const stream : copies) build.join(*stream, build.unique(stream->name + "_joins"));
}

}  // namespace moire::tensor_parallel
