// The fused schedule of embedding_all_to_all: one persistent kernel whose workgroups send results as soon as they are
// complete (arXiv 2305.06942).
//
// Within a node, workgroups store results directly to the peer's output. After its last task for a peer, a workgroup
// fences its stores and raises its ready flag at the peer. Between nodes, the results of a slice are collected in a
// local buffer. The workgroup that completes the slice puts the slice and raises a flag at the receiver. At the end,
// the workgroups of every rank poll the flags that the rank awaits.
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/link/stripes.hpp"
#include "models/workload/kernel/embedding_columns.hpp"
#include "models/workload/kernel/embedding_spec.hpp"
#include "sim/core/memory_limit.hpp"

namespace moire::kernel {

namespace {

using program::Phase;
using program::Rank;

class FusedEmbeddingBody final : public program::KernelBody {
 public:
  struct Arguments {
    Rank ranks = 0;
    part::Reach reach;
    Order order = Order::slices_in_turn;
    std::int64_t physical = 0;  // workgroups of the persistent kernel
    std::int64_t tasks = 0;     // tasks for one destination
    std::int64_t blocks = 0;    // tasks of one table and destination
    std::int64_t bags = 0;      // samples of a full block
    std::int64_t samples = 0;   // samples of one destination
    std::int64_t tasks_per_slice = 1;
    double vector_bytes = 0;
    Time fence;
    Time before_first;  // delay before a workgroup's first task
    std::uint32_t queue_pairs = 1;
    program::FlagBlock ready;       // by source: counts ready workgroups (same node) or arrived slices (other node)
    program::FlagBlock slice_done;  // by destination and slice: counts finished tasks
  };
  enum Shape : std::uint16_t {
    keep,
    gather_for_peer,
    stage,
    store_to_peer,
    of_first
  };  // the first task of a workgroup has shape of_first + the number of its gather (keep, gather_for_peer or stage)

  // Returns the bytes of memory that list_releases() needs for its lists.
  static double bytes(const Arguments& a) {
    const auto physical = static_cast<double>(a.physical);
    const Rank lists = turned(a.order) ? a.reach.gpus_per_node() : a.ranks;
    return physical * (static_cast<double>(sizeof(Release) * a.reach.peers()) * lists +
                       static_cast<double>(sizeof(std::uint32_t)) * seen_from_first(a));
  }

  static std::int64_t slices(const Arguments& a) { return (a.tasks + a.tasks_per_slice - 1) / a.tasks_per_slice; }

  explicit FusedEmbeddingBody(Arguments arguments)
      : arguments_(arguments),
        slices_(slices(arguments)),
        full_blocks_(arguments.blocks * arguments.bags == arguments.samples) {
    if (arguments_.reach.peers() > 0) list_releases();
  }

  std::int64_t workgroups(Rank) const override { return arguments_.physical; }
  bool turns(Rank by) const override { return turned() && by % arguments_.reach.gpus_per_node() == 0; }

  // Fills `phase` with a step of a workgroup. A workgroup does its tasks and then polls flags. After its last task for
  // a peer of the node, it fences its stores and raises its ready flag at the peer. Peers for which the workgroup has
  // no task get the flag at the start.
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    std::int64_t at = step;
    if (at-- == 0) {
      phase.kind = Phase::Kind::delay;
      phase.duration = arguments_.before_first;
      return true;
    }
    std::int64_t done = 0;
    const Release* const releases =
        releases_.data() + (rank % lists() * arguments_.physical + workgroup) * arguments_.reach.peers();
    const Rank node = rank - arguments_.reach.gpu_of(rank);
    for (Rank turn = 0; turn < arguments_.reach.peers(); ++turn) {
      const Release release = releases[turn];
      if (at < 2 * (release.after - done)) break;
      at -= 2 * (release.after - done);
      done = release.after;
      // All peers that get the flag at the start share one fence.
      if (at == 0 && (done > 0 || turn == 0)) fence_step(phase);
      if (at == 1) signal_step(rank, node + release.gpu, phase);
      if (at < 2) return true;
      at -= 2;
    }
    const std::int64_t all = arguments_.tasks * arguments_.ranks;
    if (const std::int64_t number = workgroup + (done + at / 2) * arguments_.physical; number < all) {
      task_step(rank, node, number, at % 2, phase);
      return true;
    }
    const std::int64_t own_tasks = tasks_before(workgroup, all);
    return poll_step(rank, workgroup + (at - 2 * (own_tasks - done)) * arguments_.physical, phase);
  }

 private:
  struct Task {
    Rank to;
    std::int64_t within;  // number of the task among those for `to`
  };
  // A fence after which a workgroup raises its ready flag at one peer.
  struct Release {
    std::uint32_t after;  // number of tasks that the workgroup does before the fence
    Rank gpu;             // the peer's number in the node
  };

  // True if the work of a rank r for a rank d depends only on d - r modulo the number of ranks.
  bool turned() const { return turned(arguments_.order); }
  static bool turned(Order order) { return order == Order::slices_in_turn || order == Order::peer_by_peer; }
  // Returns the number of lists that list_releases() makes: one per GPU of a node if turned(), otherwise one per rank.
  Rank lists() const { return turned() ? arguments_.reach.gpus_per_node() : arguments_.ranks; }

  // Returns for how many destinations list_releases() needs the tasks of rank 0. If turned(), these are the
  // destinations that are less than a node before or after the rank.
  static Rank seen_from_first(const Arguments& a) {
    return turned(a.order) ? std::min(a.ranks, 2 * a.reach.gpus_per_node() - 1) : a.ranks;
  }

  // Lists, for every workgroup, the numbers of tasks after which it raises its flag at each peer of its node, lowest
  // number first.
  void list_releases() {
    // `last` holds, for every workgroup of rank 0 and the destinations of seen_from_first(), how many tasks the
    // workgroup has done when its last task for this destination is done (0 if it has none). If turned(), rank r has
    // for destination d the number that rank 0 has for destination (d - r) mod ranks; otherwise it has the same number
    // for d as rank 0.
    const Rank gpus = arguments_.reach.gpus_per_node(), columns = seen_from_first(arguments_);
    const auto column = [&](Rank destination) {
      return turned() ? (destination + gpus - 1) % arguments_.ranks : destination;
    };
    std::vector<std::uint32_t> last(static_cast<std::size_t>(arguments_.physical * columns));
    for (std::int64_t number = 0; number < arguments_.tasks * arguments_.ranks; ++number) {
      const Rank to = column(task_at(0, number).to);
      if (to >= columns) continue;
      const std::int64_t at = number % arguments_.physical * columns + to;
      last[static_cast<std::size_t>(at)] = static_cast<std::uint32_t>(number / arguments_.physical + 1);
    }
    releases_.reserve(static_cast<std::size_t>(arguments_.physical) * lists() * arguments_.reach.peers());
    for (Rank rank = 0; rank < lists(); ++rank) {
      const Rank node = arguments_.reach.node_of(rank) * gpus;
      for (std::int64_t workgroup = 0; workgroup < arguments_.physical; ++workgroup) {
        for (Rank turn = 1; turn <= arguments_.reach.peers(); ++turn) {
          const Rank gpu = (rank - node + turn) % gpus;
          const Rank peer = node + gpu;
          const Rank seen_from_0 = turned() ? (peer + arguments_.ranks - rank) % arguments_.ranks : peer;
          releases_.push_back({last[static_cast<std::size_t>(workgroup * columns + column(seen_from_0))], gpu});
        }
        std::stable_sort(releases_.end() - arguments_.reach.peers(), releases_.end(),
                         [](const Release& a, const Release& b) { return a.after < b.after; });
      }
    }
  }

  // Returns how many of the first `end` tasks of the rank the workgroup does.
  std::int64_t tasks_before(std::int64_t workgroup, std::int64_t end) const {
    return end <= workgroup ? 0 : (end - workgroup + arguments_.physical - 1) / arguments_.physical;
  }

  Task task_at(Rank rank, std::int64_t number) const {
    const std::int64_t peers = arguments_.ranks - 1;
    switch (arguments_.order) {
      case Order::slices_in_turn:
        break;
      case Order::peer_by_peer:  // each rank begins with the next rank, so that no two ranks send to the same peer
        return {(rank + 1 + static_cast<Rank>(number / arguments_.tasks)) % arguments_.ranks,
                number % arguments_.tasks};
      case Order::by_destination:
        return {static_cast<Rank>(number / arguments_.tasks), number % arguments_.tasks};
      case Order::by_table: {
        const std::int64_t table = number / (arguments_.blocks * arguments_.ranks);
        const std::int64_t block = number % (arguments_.blocks * arguments_.ranks);
        return {static_cast<Rank>(block / arguments_.blocks), table * arguments_.blocks + block % arguments_.blocks};
      }
    }
    // slices_in_turn: the peers' slices come in turn, so that all links work at once. The rank's own tasks come last.
    if (number >= peers * arguments_.tasks) return {rank, number - peers * arguments_.tasks};
    // Number of tasks for one peer before the tasks of its last slice.
    const std::int64_t before_last = (slices_ - 1) * arguments_.tasks_per_slice;
    std::int64_t slice_tasks = arguments_.tasks_per_slice;
    std::int64_t base = number / (slice_tasks * peers) * slice_tasks;
    std::int64_t in_round = number % (slice_tasks * peers);
    if (number >= before_last * peers) {  // the last slice may be short
      slice_tasks = arguments_.tasks - before_last;
      base = before_last;
      in_round = number - before_last * peers;
    }
    const auto turn = static_cast<Rank>(in_round / slice_tasks);
    const Rank to = rank + 1 + turn;  // below 2 x ranks
    return {to < arguments_.ranks ? to : to - arguments_.ranks, base + in_round % slice_tasks};
  }

  void fence_step(Phase& phase) const {
    phase.kind = Phase::Kind::fence;
    phase.duration = arguments_.fence;
  }
  void signal_step(Rank rank, Rank peer, Phase& phase) const {
    phase.kind = Phase::Kind::signal;
    phase.peer = peer;
    phase.flag = arguments_.ready.at(peer, rank);
  }

  // `node`: the first rank of the rank's node.
  void task_step(Rank rank, Rank node, std::int64_t number, std::int64_t part, Phase& phase) const {
    const auto [to, within] = task_at(rank, number);
    // Reach::stores() without its divisions. The ranks of the node are `node` to `node` + peers. If `to` is below
    // `node`, the unsigned difference wraps around, so it exceeds `peers`.
    const Rank peers = arguments_.reach.peers();
    const bool stores = to == rank || (peers > 0 && to - node <= peers);
    phase.peer = to;
    if (part == 0) {
      phase.kind = Phase::Kind::work;
      phase.shape = to == rank ? keep : stores ? gather_for_peer : stage;
      if (number < arguments_.physical) phase.shape += of_first;
      phase.amount = static_cast<double>(bags_of(within));
    } else if (to == rank) {
      return;
    } else if (stores) {
      phase.kind = Phase::Kind::work;
      phase.shape = store_to_peer;
      phase.amount = static_cast<double>(bags_of(within));
      phase.posted = true;
    } else {
      const std::int64_t slice = within / arguments_.tasks_per_slice;
      const std::int64_t first = slice * arguments_.tasks_per_slice;
      const std::int64_t last = std::min(first + arguments_.tasks_per_slice, arguments_.tasks);
      phase.kind = Phase::Kind::put;
      phase.flag = arguments_.ready.at(to, rank);
      phase.queue_pair = static_cast<std::uint32_t>(slice) % arguments_.queue_pairs;
      phase.bytes = Bytes{static_cast<double>(bags_before(last) - bags_before(first)) * arguments_.vector_bytes};
      if (last - first > 1) {
        phase.gate = arguments_.slice_done.at(rank, static_cast<std::uint32_t>(to * slices_ + slice));
        phase.gate_target = last - first;
      }
    }
  }

  // Returns the number of samples of a task. The last block of a table may be short.
  std::int64_t bags_of(std::int64_t task) const {
    if (full_blocks_) return arguments_.bags;
    return std::min(arguments_.bags, arguments_.samples - task % arguments_.blocks * arguments_.bags);
  }

  // Returns the number of samples of the first `tasks` tasks together.
  std::int64_t bags_before(std::int64_t tasks) const {
    if (full_blocks_) return tasks * arguments_.bags;
    return tasks / arguments_.blocks * arguments_.samples + tasks % arguments_.blocks * arguments_.bags;
  }

  // Fills `phase` with the wait for the flag of remote source number `index`; returns false if there is no such source.
  // The sources are divided among the workgroups.
  bool poll_step(Rank rank, std::int64_t index, Phase& phase) const {
    if (index >= arguments_.ranks - 1) return false;
    const Rank from = (rank + 1 + static_cast<Rank>(index)) % arguments_.ranks;
    phase.kind = Phase::Kind::wait;
    phase.flag = arguments_.ready.at(rank, from);
    phase.target = arguments_.reach.stores(rank, from) ? arguments_.physical : slices_;
    return true;
  }

  Arguments arguments_;
  std::int64_t slices_;  // of one destination
  bool full_blocks_;     // no block is shorter than the others; most steps then take no division for their samples
  std::vector<Release> releases_;  // [rank][workgroup][number]
};

// Returns the columns that a rank stores to one destination.
ResultColumns columns(const EmbeddingSpec& spec, const EmbeddingSizes& sizes, const builder::Builder& build,
                      std::int64_t workgroups) {
  const std::int64_t ranks = build.ranks();
  const std::int64_t destinations = spec.order == Order::slices_in_turn ? std::max<std::int64_t>(1, ranks - 1)
                                    : spec.order == Order::by_table     ? ranks
                                                                        : 1;
  return {.vector_bytes = static_cast<std::int64_t>(sizes.vector_bytes),
          .tables = spec.tables_per_gpu,
          .ranks = ranks,
          .gpus = build.reach().gpus_per_node(),
          // The destinations in the own node; its results for other nodes are not stores.
          .turns = spec.order == Order::peer_by_peer || spec.order == Order::by_destination
                       ? std::max<std::int64_t>(1, build.reach().gpus_per_node() - 1)
                       : 1,
          .tables_per_round = static_cast<double>(workgroups * spec.bags_per_workgroup) /
                              static_cast<double>(destinations * sizes.samples_per_rank),
          .ports = build.gpu().compute.ports,
          .progress_spread = build.gpu().compute.progress_spread};
}

}  // namespace

void append_fused_embedding(builder::Builder& build, const EmbeddingSpec& spec) {
  const Rank ranks = build.ranks();
  const EmbeddingSizes sizes(spec, ranks);
  program::Kernel kernel;
  kernel.name = build.unique("fused_embedding");
  kernel.resources.threads = spec.threads;
  kernel.resources.registers_per_thread = spec.fused_registers_per_thread;
  kernel.shapes.resize(FusedEmbeddingBody::of_first);
  // A pass is a walk through all tables. The caches may have to load a table again in every pass. With slices in turn,
  // tasks for all peers read a table at about the same time, and the rank's own tasks read it in a second pass.
  // by_table reads every table in one pass. The other orders read all tables once for each destination.
  Walk walk;
  walk.passes = spec.order == Order::by_table ? 1 : spec.order == Order::slices_in_turn && ranks > 1 ? 2 : ranks;
  walk.workgroups = builder::resident_workgroups(build, kernel.resources);
  walk.progress_window = build.gpu().compute.progress_window;
  program::PhaseShape& keep = kernel.shapes[FusedEmbeddingBody::keep];
  keep = gather_shape(spec, build.gpu(), "gather", walk);
  keep.write = sizes.vector_bytes;
  keep.write_miss = results_written_back(spec, build.gpu(), keep);
  program::PhaseShape& stage = kernel.shapes[FusedEmbeddingBody::stage];
  stage = keep;
  stage.name = "gather to slice";
  // Stores to a peer are posted: the workgroup goes on with its next task and waits for its stores only in the fence.
  // Stores of peers arrive at the same time, so the memory of every GPU serves a mix of loads and stores.
  program::PhaseShape& gather = kernel.shapes[FusedEmbeddingBody::gather_for_peer];
  gather = gather_shape(spec, build.gpu(), "gather for peer", walk);
  const double stored = sizes.vector_bytes * keep.write_miss;
  gather.mixed_stores = stored / (gather.fetched() + stored);
  program::PhaseShape& store = kernel.shapes[FusedEmbeddingBody::store_to_peer];
  store.name = "store to peer";
  store.peer_write = sizes.vector_bytes;
  store.write_miss = keep.write_miss;
  store.mixed_stores = gather.mixed_stores;
  store.in_flight = Bytes{static_cast<double>(spec.bags_per_workgroup) * sizes.vector_bytes};
  const ResultColumns results = columns(spec, sizes, build, walk.workgroups);
  store.peer_write_cost = mean_link_cost(build.gpu().port, results) *
                          link::packet_cost(build.gpu().port, results.vector_bytes, results.vector_bytes);
  for (const auto later : {FusedEmbeddingBody::keep, FusedEmbeddingBody::gather_for_peer, FusedEmbeddingBody::stage}) {
    const program::PhaseShape first = of_first_task(spec, build.gpu(), kernel.shapes[later]);
    kernel.shapes.push_back(first);
  }

  FusedEmbeddingBody::Arguments arguments;
  arguments.ranks = ranks;
  arguments.reach = build.reach();
  arguments.order = spec.order;
  arguments.tasks = sizes.tasks_per_rank;
  arguments.blocks = sizes.blocks;
  arguments.bags = spec.bags_per_workgroup;
  arguments.samples = sizes.samples_per_rank;
  arguments.tasks_per_slice = spec.slice_vectors / spec.bags_per_workgroup;
  arguments.physical = std::min(walk.workgroups, arguments.tasks * ranks);
  arguments.vector_bytes = sizes.vector_bytes;
  arguments.fence = spec.fence.value_or(build.gpu().port.fence);
  arguments.before_first = before_first_rows(spec, build.gpu(), arguments.physical);
  if (build.system.node.nic) arguments.queue_pairs = static_cast<std::uint32_t>(build.system.node.nic->queue_pairs);
  const auto raised_by_index = [name = kernel.name](Rank, std::uint32_t index) { return std::pair{index, name}; };
  arguments.ready = build.program.add_flags({kernel.name + ".ready", ranks, raised_by_index});
  const bool between_nodes = arguments.reach.peers() + 1 < ranks;
  if (between_nodes && arguments.tasks_per_slice > 1) {
    arguments.slice_done = build.program.add_flags(
        {kernel.name + ".slice_done", static_cast<std::uint32_t>(FusedEmbeddingBody::slices(arguments)) * ranks,
         [name = kernel.name](Rank rank, std::uint32_t) {
           return std::pair{rank, name};
         }});
  }
  core::need_memory(FusedEmbeddingBody::bytes(arguments), fmt::format("the fused kernels of {} ranks", ranks),
                    "simulate fewer nodes");
  kernel.body = std::make_shared<FusedEmbeddingBody>(arguments);
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::kernel
