// Queues: when operations start and end.
#include <algorithm>

#include "models/replay/replay.hpp"
#include "sim/core/invariant.hpp"

namespace moire::models::replay {

// Operation i of queue q is number i x queues + q that the host enqueues; it starts when it is enqueued and its queue
// has come to it.
void Replay::schedule_next(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const auto& operations = program_.queues[queue].operations;
  if (state.next == operations.size()) {
    result_.rank_end[rank] = std::max(result_.rank_end[rank], state.end);
    return;
  }
  const host::HostSpec& host = machine_.gpu().host;
  const auto number = static_cast<std::int64_t>(state.next * program_.queues.size() + queue + 1);
  state.enqueued = host.enqueue * number;
  Time at = state.enqueued;
  // A copy within the GPU that the driver runs as a kernel starts like one.
  const auto is_copy = [&](std::uint32_t i) {
    const auto* copy = std::get_if<program::Copy>(&operations[i]);
    return copy != nullptr && (copy->transfer(rank).peer != rank || !gpus_[rank]->engines.local_by_kernel());
  };
  state.prefetched = state.next > 0 && is_copy(state.next) && is_copy(state.next - 1) && at <= state.end;
  if (state.next > 0 && !state.prefetched) at = std::max(at, state.end + host.queue_gap);
  machine_.loop().calendar().schedule(std::max(at, machine_.loop().now()), *this,
                                      pack(Event::start, rank * program_.queues.size() + queue));
}

void Replay::start_operation(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const Time now = machine_.loop().now();
  state.begin = now;
  state.started = true;
  const std::uint64_t id = rank * program_.queues.size() + queue;
  core::Calendar& calendar = machine_.loop().calendar();
  const program::Operation& operation = program_.queues[queue].operations[state.next];
  if (const auto* kernel = std::get_if<program::Kernel>(&operation)) {
    start_kernel(rank, queue, *kernel);
  } else if (const auto* copy = std::get_if<program::Copy>(&operation)) {
    start_copy(rank, queue, *copy);
  } else if (const auto* wait = std::get_if<program::Wait>(&operation)) {
    flags_.wait(wait->flag(rank), wait->target, Time{}, *this, pack(Event::end, id));
  } else {
    calendar.schedule(now + std::get<program::Delay>(operation).duration, *this, pack(Event::end, id));
  }
}

void Replay::start_kernel(Rank rank, std::uint32_t queue, const program::Kernel& kernel) {
  QueueState& state = queue_state(rank, queue);
  state.run = static_cast<std::uint32_t>(runs_.size());
  KernelRun run;
  run.kernel = &kernel;
  run.rank = rank;
  run.queue = queue;
  run.operation = operation_index(queue, state.next);
  run.first_shape = first_shapes_[queue][state.next];
  run.footprint = cu::footprint(machine_.gpu().compute, kernel.resources);
  run.workgroups = kernel.body->workgroups(rank);
  run.strands = kernel.body->strands(rank);
  runs_.push_back(run);
  const std::uint64_t id = rank * program_.queues.size() + queue;
  if (run.workgroups == 0) {
    machine_.loop().calendar().schedule(machine_.loop().now(), *this, pack(Event::end, id));
    return;
  }
  // The launch of a kernel that waited behind another operation is done by the time its turn comes.
  const Time launched = state.enqueued + machine_.gpu().host.kernel_start;
  machine_.loop().calendar().schedule(std::max(launched, machine_.loop().now()), *this, pack(Event::grid, state.run));
}

// The kernel reaches the dispatcher.
void Replay::start_grid(std::uint32_t run_id) {
  const KernelRun& run = runs_[run_id];
  gpus_[run.rank]->dispatcher.add(
      {run_id, run.workgroups, run.footprint, run.kernel->resources.cluster, program_.queues[run.queue].priority});
  request_turn(run.rank);
}

core::ClassId Replay::copy_class(Rank rank, Rank peer) {
  auto& classes = copy_classes_[rank];
  if (classes.empty()) classes.assign(machine_.ranks(), core::no_id);
  if (classes[peer] != core::no_id) return classes[peer];
  const machine::GpuSpec& gpu = machine_.gpu();
  core::ClassSpec spec;
  spec.bound = gpu.dma.bandwidth.value;
  spec.weight = gpu.dma.bytes_in_flight.value;
  if (peer == rank) {
    if (gpu.dma.local_bandwidth) {
      spec.bound = gpu.dma.local_bandwidth->value;
      spec.weight = gpu.compute.bytes_in_flight_per_cu.value * static_cast<double>(gpu.compute.total_cus());
    }
    spec.demands.push_back({machine_.capacities(rank).hbm, 1 + gpu.hbm.write_cost});
  } else {
    spec.demands.push_back({machine_.capacities(rank).hbm, 1});
    machine_.add_store_path(rank, peer, 1, spec.demands, machine::Machine::Mover::dma);
  }
  classes[peer] = machine_.sharing().add_class(std::move(spec));
  return classes[peer];
}

void Replay::start_copy(Rank rank, std::uint32_t queue, const program::Copy& copy) {
  const program::Transfer transfer = copy.transfer(rank);
  MOIRE_INVARIANT(transfer.peer == rank || machine_.stores_reach(rank, transfer.peer), "a DMA copy leaves its node");
  if (transfer.peer != rank) result_.scale_up_bytes = result_.scale_up_bytes + transfer.bytes;
  const std::uint64_t id = rank * program_.queues.size() + queue;
  gpus_[rank]->engines.submit({copy_class(rank, transfer.peer), transfer.bytes, queue_state(rank, queue).prefetched,
                               transfer.peer == rank, this, pack(Event::copied, id)});
}

void Replay::end_operation(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const Time now = machine_.loop().now();
  const program::Operation& operation = program_.queues[queue].operations[state.next];
  OperationTimes& times = result_.operations[operation_index(queue, state.next)];
  times.begin = std::min(times.begin, state.begin);
  times.end = std::max(times.end, now);
  if (observer_ != nullptr) {
    const auto reason =
        std::holds_alternative<program::Wait>(operation) ? program::WaitReason::flag : program::WaitReason::none;
    observer_->operation({rank, queue, program::name_of(operation), reason, state.begin, now});
  }
  state.end = now;
  state.started = false;
  ++state.next;
  schedule_next(rank, queue);
}

}  // namespace moire::models::replay
