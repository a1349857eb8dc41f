// The deadlock report: which rank, queue, kernel, workgroup and flag waits for what, and the cycle among them.
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/replay/replay.hpp"
#include "sim/core/wait_graph.hpp"

namespace moire::replay {

namespace {
// Most waits for flags, and most waiting queues, in the report. More would make it hard to read.
constexpr std::size_t max_waiters = 2000;
}  // namespace

std::string Replay::party(Rank rank, std::uint32_t queue, const std::string& operation) const {
  return fmt::format("rank {} queue '{}' operation '{}'", rank, program_.queues[queue].name, operation);
}

std::string Replay::deadlock_report() const {
  core::WaitGraph graph;
  const auto queues = program_.queues.size();
  const auto current = [&](Rank rank, std::uint32_t queue) {
    const QueueState& state = queues_[rank * queues + queue];
    return program::name_of(program_.queues[queue].operations[state.next]);
  };
  // Returns the node of the operation that should raise the flag. This operation may itself wait behind another one.
  const auto producer = [&](program::FlagRef flag) {
    const program::FlagPlace place = program_.place_of(flag);
    const auto [rank, name] = program_.array(place.array).raised_by(place.rank, place.index);
    for (std::uint32_t q = 0; q < queues; ++q) {
      for (const program::Operation& operation : program_.queues[q].operations) {
        if (program::name_of(operation) == name) return graph.node(party(rank, q, name));
      }
    }
    return graph.node(fmt::format("rank {} operation '{}'", rank, name));
  };
  struct FlagWait {
    core::WaitGraph::Node from, to;
    std::string reason;
  };
  std::vector<FlagWait> flag_waits;
  std::size_t waiters = 0;
  for (const core::Flags::Waiter& waiter : flags_.waiting()) {
    if (++waiters > max_waiters) break;
    const auto event = static_cast<Event>(waiter.payload >> 56);
    const std::uint64_t id = waiter.payload & ((std::uint64_t{1} << 56) - 1);
    const std::string wanted = fmt::format("waits for flag {} >= {}, it is {}", program_.name_of_flag(waiter.flag),
                                           waiter.target, flags_.value(waiter.flag));
    if (event == Event::workgroup) {
      const Workgroup& wg = workgroups_[id];
      const KernelRun& run = runs_[wg.run];
      flag_waits.push_back({graph.node(party(run.rank, run.queue, run.kernel->name)), producer(waiter.flag),
                            fmt::format("workgroup {}{} on CU {} {}", wg.number,
                                        run.strands == 1 ? "" : fmt::format(" strand {}", wg.strand), wg.cu, wanted)});
    } else {
      const auto rank = static_cast<Rank>(id / queues);
      const auto queue = static_cast<std::uint32_t>(id % queues);
      flag_waits.push_back({graph.node(party(rank, queue, current(rank, queue))), producer(waiter.flag), wanted});
    }
  }
  // A kernel with workgroups that have no CU waits for itself only if one of its resident workgroups waits for a flag
  // that the kernel itself should raise.
  const auto waits_for_itself = [&](core::WaitGraph::Node node) {
    return std::any_of(flag_waits.begin(), flag_waits.end(),
                       [&](const FlagWait& wait) { return wait.from == node && wait.to == node; });
  };
  std::size_t blocked = 0;
  for (Rank rank = 0; rank < machine_.ranks(); ++rank) {
    // Adds the waits of grids for kernels whose workgroups hold the CUs. If queues have their own slots (counterfactual
    // run), each copy of the slots has a dispatcher.
    for (std::size_t slots = rank; slots < gpus_.size(); slots += machine_.ranks()) {
      for (const part::Dispatcher::Head& head : gpus_[slots]->dispatcher->waiting()) {
        const KernelRun& run = runs_[head.grid];
        for (const KernelRun& holder : runs_) {
          if (gpu_with_slots(holder.rank, holder.queue) != slots || holder.started == holder.finished) continue;
          const core::WaitGraph::Node from = graph.node(party(rank, run.queue, run.kernel->name));
          const core::WaitGraph::Node to = graph.node(party(rank, holder.queue, holder.kernel->name));
          if (from == to && !waits_for_itself(from)) continue;
          graph.edge(from, to, fmt::format("{} workgroups wait for a CU slot", head.waiting));
        }
      }
    }
    // Adds the waits of operations for the current operation of their queue.
    for (std::uint32_t q = 0; q < queues; ++q) {
      const QueueState& state = queues_[rank * queues + q];
      const auto& operations = program_.queues[q].operations;
      if (state.next >= operations.size()) continue;
      if (++blocked > max_waiters) continue;
      const std::uint32_t earlier = orders_[q].before;
      if (state.next == 0 && earlier != UINT32_MAX &&
          queues_[rank * queues + earlier].next < program_.queues[earlier].operations.size()) {
        graph.edge(graph.node(party(rank, q, program::name_of(operations[0]))),
                   graph.node(party(rank, earlier, current(rank, earlier))), "its queue is later in the serial order");
      }
      for (std::size_t i = state.next + 1; i < operations.size(); ++i) {
        if (!program::runs_on(operations[i], rank)) continue;
        graph.edge(graph.node(party(rank, q, program::name_of(operations[i]))),
                   graph.node(party(rank, q, program::name_of(operations[state.next]))),
                   "is behind another operation of its queue");
      }
    }
  }
  for (FlagWait& wait : flag_waits) graph.edge(wait.from, wait.to, std::move(wait.reason));
  return fmt::format("deadlock at {:.3f} us: {} queues did not end\n{}", machine_.loop().now().us(), blocked,
                     graph.report());
}

}  // namespace moire::replay
