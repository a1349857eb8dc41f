// Stand-ins for kernels that every rank runs by itself (KernelBody::by_itself). The rank that reaches the kernel first
// is simulated, and its result is used for the others.
//
// A kernel of this kind only uses resources of its own rank, and its queue is the only one of the program. On an idle
// rank it therefore takes the same time whenever it begins, to the picosecond, because everything is computed from
// differences of times. A rank that is not idle when the kernel begins is simulated. If another rank interferes later
// (by stores to this rank or by a copy), the run is aborted and repeated without stand-ins.
#include <algorithm>

#include "models/hardware/replay/replay.hpp"
#include "sim/core/invariant.hpp"

namespace moire::replay {

bool Replay::find_stand_ins() const {
  // Stand-ins exclude a timeline, which shows every rank; energy meters, which count on the GPU that draws the energy;
  // GPUs with different clocks; and SimGrid, which cannot repeat a run in the same process.
  if (observer_ != nullptr || meters_ != nullptr || machine_.ranks() == 1 || !machine_.site().uneven().clock.empty() ||
      machine_.spec().network.model != machine::NetworkModel::queue)
    return false;
  const program::Queue* only = nullptr;
  for (const program::Queue& queue : program_.queues) {
    if (queue.operations.empty()) continue;
    if (only != nullptr) return false;
    only = &queue;
  }
  return only != nullptr &&
         std::any_of(only->operations.begin(), only->operations.end(), [](const program::Operation& operation) {
           const auto* kernel = std::get_if<program::Kernel>(&operation);
           return kernel != nullptr && kernel->body->by_itself();
         });
}

bool Replay::begins_by_itself(std::uint32_t id) {
  if (stand_ins_.empty()) return false;
  KernelRun& run = runs_[id];
  if (!run.kernel->body->by_itself() || (!visits_.empty() && visits_[run.rank] > 0)) return false;
  by_itself_[run.rank] = true;
  StandIn& model = stand_ins_[run.operation];
  if (model.run == UINT32_MAX) {
    model.run = id;
    model.phases = result_.operations[run.operation].phases;
    for (program::PhaseTotal& phase : model.phases) phase = {phase.name, 0, {}};
    run.totals = model.phases.data();
    return false;
  }
  model.others.push_back(run.rank);
  if (model.over) {
    end_like(id);
  } else {
    model.waiting.push_back(id);
  }
  return true;
}

void Replay::end_like(std::uint32_t id) {
  const KernelRun& run = runs_[id];
  machine_.loop().calendar().schedule(run.reached + stand_ins_[run.operation].took, *this,
                                      pack(Event::end, run.rank * program_.queues.size() + run.queue));
}

void Replay::ends_by_itself(std::uint32_t id) {
  const KernelRun& run = runs_[id];
  if (!by_itself_[run.rank]) return;
  by_itself_[run.rank] = false;
  StandIn& model = stand_ins_[run.operation];
  Gpu& gpu = *gpus_[gpu_with_slots(run.rank, run.queue)];
  if (model.run == id) {
    if (run.refilling > 0) throw NotByItself();  // the next kernel would find slots that are still occupied
    model.over = true;
    model.took = machine_.loop().now() - run.reached;
    model.next_turn = gpu.next_turn - run.reached;
    model.next_refill = gpu.next_refill;
    for (Time& next : model.next_refill) next = next - run.reached;
    for (const std::uint32_t waits : model.waiting) end_like(waits);
    model.waiting.clear();
    return;
  }
  gpu.next_turn = std::max(gpu.next_turn, run.reached + model.next_turn);
  gpu.next_refill = model.next_refill;
  for (Time& next : gpu.next_refill) next = next + run.reached;
  result_.workgroups += static_cast<std::uint64_t>(run.workgroups);
  result_.operations[run.operation].workgroups += run.workgroups;
  steps_ += model.steps;
  if (pulse_ != nullptr) pulse_->steps.store(steps_, std::memory_order_relaxed);
}

void Replay::count_others() {
  for (std::size_t operation = 0; operation < stand_ins_.size(); ++operation) {
    const StandIn& model = stand_ins_[operation];
    if (model.run == UINT32_MAX) continue;
    const KernelRun& run = runs_[model.run];
    const auto all = static_cast<std::int64_t>(model.others.size()) + 1;
    std::vector<program::PhaseTotal>& phases = result_.operations[operation].phases;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      phases[i].count += model.phases[i].count * all;
      phases[i].total += model.phases[i].total * all;
    }
    phases_.stands_in(run.rank, model.others, run.first_shape, run.kernel->shapes.size());
  }
}

// Called when an activity that does not belong to a kernel of `rank` starts to use the capacities of `rank`.
void Replay::visit(Rank rank) {
  if (visits_.empty()) return;
  if (by_itself_[rank]) throw NotByItself();
  ++visits_[rank];
}

// Called when a work phase that uses capacities of other ranks begins (`comes`) or ends.
void Replay::visit(const KernelRun& run, std::uint16_t number, Rank peer, bool comes) {
  if (visits_.empty()) return;
  const program::PhaseShape& shape = run.kernel->shapes[number];
  if (shape.peer_write + shape.peer_read <= 0) return;
  const Rank gpus = machine_.reach().gpus_per_node();
  const Rank first = shape.by_switch ? machine_.reach().node_of(run.rank) * gpus : peer;
  for (Rank rank = first; rank < (shape.by_switch ? first + gpus : first + 1); ++rank) {
    if (rank == run.rank) continue;
    if (comes) {
      visit(rank);
    } else {
      --visits_[rank];
    }
  }
}

}  // namespace moire::replay
