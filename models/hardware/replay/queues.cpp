// Starts the operations of queues, and ends them.
#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "models/hardware/replay/replay.hpp"
#include "sim/core/invariant.hpp"

namespace moire::replay {

void Replay::set_launch_order() {
  const auto queues = static_cast<std::uint32_t>(program_.queues.size());
  orders_.resize(queues);
  std::vector<std::uint32_t> order = program_.launch;
  if (order.empty()) {
    order.resize(program_.families());
    std::iota(order.begin(), order.end(), 0U);
  }
  MOIRE_INVARIANT(order.size() == program_.families(), "a launch order that does not name every queue");
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    QueueOrder& own = orders_[order[position]];
    own.position = position;
    own.stream = order[position];
    // Only in serial order do queues wait for other queues. Their streams never do.
    if (program_.order == program::Order::concurrent || own_host_) continue;
    own.stream = order[0];
    if (position > 0) own.before = order[position - 1];
    if (position + 1 < order.size()) own.after = order[position + 1];
  }
  for (std::uint32_t queue = program_.families(); queue < queues; ++queue) {
    orders_[queue].position = orders_[program_.family(queue)].position;
    orders_[queue].stream = queue;
  }
}

// Returns the operation that must end before operation `next` of the queue starts, or null if there is none.
const program::Operation* Replay::operation_before(Rank rank, std::uint32_t queue, std::uint32_t next) const {
  for (std::uint32_t q = queue; q != UINT32_MAX; q = orders_[q].before) {
    const auto& operations = program_.queues[q].operations;
    for (std::size_t i = q == queue ? next : operations.size(); i-- > 0;) {
      if (program::runs_on(operations[i], rank)) return &operations[i];
    }
  }
  return nullptr;
}

void Replay::enqueue_all() {
  bool alike = machine_.site().uneven().start.empty();
  for (const program::Queue& queue : program_.queues) {
    if (queue.by_host) continue;
    for (const program::Operation& operation : queue.operations)
      alike = alike && std::visit([](const auto& op) { return op.ranks == nullptr; }, operation);
  }
  for (Rank rank = 0; rank < (alike ? 1 : machine_.ranks()); ++rank) enqueued_.push_back(enqueued_by(rank));
}

// Returns when the host of a rank has enqueued each operation. In serial order, it enqueues queue after queue. In
// concurrent order, queues take turns with one operation each, and a queue and its streams share their turns. Copies
// that begin together (Copy::beside) are enqueued one after the other. Leaves out streams `by_host` (enqueue_now()).
std::vector<Time> Replay::enqueued_by(Rank rank) const {
  const Time each = machine_.gpu().host.enqueue, each_copy = machine_.gpu().host.copy_time();
  const Time behind_copy = machine_.gpu().dma.queued_enqueue.value_or(each_copy);
  const bool serial = program_.order == program::Order::serial && !own_host_;
  const std::uint32_t queues = program_.families();
  std::vector<std::vector<std::uint32_t>> by_position(queues);  // each with its streams
  for (std::uint32_t queue = 0; queue < program_.queues.size(); ++queue)
    by_position[orders_[queue].position].push_back(queue);
  std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> order;
  std::int64_t queued = 0;
  for (std::vector<std::uint32_t>& family : by_position) {
    std::int64_t turn = 0;
    std::size_t longest = 0;
    std::erase_if(family, [this](std::uint32_t queue) { return program_.queues[queue].by_host; });
    for (const std::uint32_t queue : family) longest = std::max(longest, program_.queues[queue].operations.size());
    for (std::uint32_t i = 0; i < longest; ++i) {
      for (const std::uint32_t queue : family) {
        const auto& operations = program_.queues[queue].operations;
        if (i >= operations.size() || !program::runs_on(operations[i], rank)) continue;
        ++turn;
        const std::int64_t number = own_host_ ? turn
                                    : serial  ? queued + turn
                                              : (turn - 1) * queues + orders_[queue].position + 1;
        order.emplace_back(number, queue, i);
      }
    }
    queued += turn;
  }
  std::sort(order.begin(), order.end());
  std::vector<Time> enqueued(result_.operations.size());
  struct Host {
    Time now;
    std::int64_t last = 0;
  };
  std::vector<Host> hosts(own_host_ ? queues : 1, Host{machine_.site().uneven().start_of(rank)});
  for (const auto& [number, queue, i] : order) {
    auto& [now, last] = hosts[own_host_ ? program_.family(queue) : 0];
    const auto& operations = program_.queues[queue].operations;
    const auto* copy = std::get_if<program::Copy>(&operations[i]);
    const bool follows = copy != nullptr && i > 0 && std::holds_alternative<program::Copy>(operations[i - 1]);
    now += each * (number - last - 1);
    now += follows ? behind_copy : by_dma(rank, operations[i]) ? each_copy : each;
    last = number;
    enqueued[operation_index(queue, i)] = now;
    if (copy != nullptr) now += each_copy * static_cast<std::int64_t>(copy->beside.size());
  }
  return enqueued;
}

// Schedules the next operation of a queue. It starts when it is enqueued and the operations before it have ended.
void Replay::schedule_next(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const auto& operations = program_.queues[queue].operations;
  while (state.next < operations.size() && !program::runs_on(operations[state.next], rank)) ++state.next;
  if (state.next == operations.size()) {
    result_.rank_end[rank] = std::max(result_.rank_end[rank], state.end);
    Time& queue_end = result_.queue_end[program_.family(queue)];
    queue_end = std::max(queue_end, state.end);
    if (orders_[queue].after == UINT32_MAX) return;
    QueueState& follower = queue_state(rank, orders_[queue].after);
    follower.end = state.end;
    follower.engine_waits = state.engine_waits;
    follower.last = state.last;
    return schedule_next(rank, orders_[queue].after);
  }
  if (program_.queues[queue].by_host) {
    if (!comes_with_last(operations[state.next])) return enqueue_now(rank, queue);
    state.enqueued += time_with_last(operations[state.next]);
  } else {
    state.enqueued = enqueued(rank, queue, state.next);
  }
  Time at = state.enqueued;
  state.ready = at;
  if (const program::Operation* before = operation_before(rank, queue, state.next)) {
    const Behind after = behind(*before, rank, queue, state);
    at = std::max(at, after.turn);
    state.ready = std::max(state.enqueued, after.ready);
  } else if (machine_.gpu().host.poll_interval && !program_.queues[queue].by_host &&
             by_dma(rank, operations[state.next])) {
    state.ready = state.ready + later_released(rank, *machine_.gpu().host.poll_interval);
  }
  machine_.loop().calendar().schedule(std::max(at, machine_.loop().now()), *this,
                                      pack(Event::start, rank * program_.queues.size() + queue));
}

// Lets a host thread enqueue the next operation of a stream, when it has time. Kernels, copies without a NIC, and
// delays that stand for calls take its time. A thread that polls for the end of other operations enqueues a copy
// faster.
void Replay::enqueue_now(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const auto& operations = program_.queues[queue].operations;
  const program::Operation& operation = operations[state.next];
  const host::HostSpec& host = machine_.gpu().host;
  HostThread& thread = host_thread(rank, queue);
  const Time now = machine_.loop().now();
  Time at = std::max(now, machine_.site().uneven().start_of(rank));
  // A thread that polls other streams sees late that the flag of a wait has been raised.
  const program::Operation* before = operation_before(rank, queue, state.next);
  if (before != nullptr && std::holds_alternative<program::Wait>(*before) && state.begin < state.end)
    at = std::max(at, state.end + turn_of(thread));
  const auto* delay = std::get_if<program::Delay>(&operation);
  if (delay != nullptr && delay->thread == program::Delay::Thread::calls) {
    at = std::max(at, thread.free);
    thread.free = at + delay->duration;
  } else if (std::holds_alternative<program::Signal>(operation)) {
    at = std::max(at, thread.free);
  } else if (runner(rank, operation) != Runner::none) {
    const bool polls = thread.under_way > 0 || (thread.polled == now && now > Time{});
    at = std::max(at, thread.free) + (polls && by_dma(rank, operation) ? host.copy_time() : host.enqueue);
    thread.free = at;
    for (auto i = state.next + 1; i < operations.size() && comes_with_last(operations[i]); ++i)
      thread.free += time_with_last(operations[i]);
  }
  state.enqueued = state.ready = at;
  machine_.loop().calendar().schedule(at, *this, pack(Event::start, rank * program_.queues.size() + queue));
}

// Returns the host's time of the calls that enqueue an operation together with the one before it.
Time Replay::time_with_last(const program::Operation& operation) const {
  if (!std::holds_alternative<program::Copy>(operation)) return machine_.gpu().host.enqueue;
  return machine_.spec().node.host_memory->calls;
}

Replay::Runner Replay::runner(Rank rank, const program::Operation& operation) const {
  if (std::holds_alternative<program::Kernel>(operation)) return Runner::cus;
  const auto* copy = std::get_if<program::Copy>(&operation);
  if (copy == nullptr || leaves_node(rank, copy->transfer(rank))) return Runner::none;
  return copied_by_kernel(rank, operation) ? Runner::cus : Runner::engine;
}

bool Replay::copied_by_kernel(Rank rank, const program::Operation& operation) const {
  const program::Transfer transfer = std::get<program::Copy>(operation).transfer(rank);
  return copies_.local_by_kernel() && transfer.peer == rank && transfer.ratio == 0 &&
         transfer.way == program::Transfer::Way::direct;
}

// True if a DMA engine executes the operation.
bool Replay::by_dma(Rank rank, const program::Operation& operation) const {
  return runner(rank, operation) == Runner::engine && std::get<program::Copy>(operation).transfer(rank).ratio == 0;
}

// True if a command of the stream, which is no command of the DMA engine, writes the flag of this copy.
bool Replay::flag_by_command(Rank rank, std::uint32_t queue, const program::Operation& operation) const {
  return machine_.gpu().host.poll_interval && !program_.queues[queue].by_host && by_dma(rank, operation) &&
         std::get<program::Copy>(operation).transfer(rank).flag != program::no_flag;
}

// True if a host thread polls for the end of the operation.
bool Replay::polled_for(std::uint32_t queue, const program::Operation& operation) const {
  return program_.queues[queue].by_host && !std::holds_alternative<program::Wait>(operation) &&
         !std::holds_alternative<program::Signal>(operation);
}

void Replay::start_operation(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const Time now = machine_.loop().now();
  state.begin = now;
  state.started = true;
  const bool first = operation_before(rank, queue, state.next) == nullptr;
  if (first) state.engine_waits = now;
  const std::uint64_t id = rank * program_.queues.size() + queue;
  core::Calendar& calendar = machine_.loop().calendar();
  const program::Operation& operation = program_.queues[queue].operations[state.next];
  if (polled_for(queue, operation)) ++host_thread(rank, queue).under_way;
  if (const auto* kernel = std::get_if<program::Kernel>(&operation)) {
    start_kernel(rank, queue, *kernel);
  } else if (const auto* copy = std::get_if<program::Copy>(&operation)) {
    start_copy(rank, queue, *copy);
  } else if (const auto* wait = std::get_if<program::Wait>(&operation)) {
    flags_.wait(wait->flag(rank), wait->target, *this, pack(Event::end, id));
  } else if (const auto* signal = std::get_if<program::Signal>(&operation)) {
    flags_.raise(signal->flag(rank));
    calendar.schedule(now, *this, pack(Event::end, id));
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
  run.footprint = dispatchers_.footprint(kernel.resources);
  run.workgroups = kernel.body->workgroups(rank);
  run.strands = kernel.body->strands(rank);
  run.items = kernel.body->items(rank);
  run.totals = result_.operations[run.operation].phases.data();
  runs_.push_back(run);
  const std::uint64_t id = rank * program_.queues.size() + queue;
  if (run.workgroups == 0) {
    machine_.loop().calendar().schedule(machine_.loop().now(), *this, pack(Event::end, id));
    return;
  }
  // The launch of a kernel overlaps with the operations before it.
  const Time launched = state.enqueued + machine_.gpu().host.kernel_start;
  const Time first_workgroup = std::max(launched, machine_.loop().now());
  // Copies after kernels were measured from an event before the first kernel. An engine's polls count from this event.
  if (operation_before(rank, queue, state.next) == nullptr)
    state.engine_waits = first_workgroup - machine_.gpu().host.event_pair;
  machine_.loop().calendar().schedule(first_workgroup, *this, pack(Event::grid, state.run));
}

// Called when the kernel reaches the dispatcher.
void Replay::start_grid(std::uint32_t run_id) {
  KernelRun& run = runs_[run_id];
  run.reached = machine_.loop().now();
  if (begins_by_itself(run_id)) return;
  gpus_[gpu_with_slots(run.rank, run.queue)]->dispatcher->add(
      {run_id, run.workgroups, run.footprint, run.kernel->resources.cluster, program_.queues[run.queue].priority,
       orders_[run.queue].mask});
  request_turn(gpu_with_slots(run.rank, run.queue));
}

void Replay::end_operation(Rank rank, std::uint32_t queue) {
  QueueState& state = queue_state(rank, queue);
  const Time now = machine_.loop().now();
  const program::Operation& operation = program_.queues[queue].operations[state.next];
  const auto* delay = std::get_if<program::Delay>(&operation);
  if (program_.queues[queue].by_host && delay != nullptr && delay->thread == program::Delay::Thread::polls) {
    if (!state.searched) {
      state.searched = true;
      machine_.loop().calendar().schedule(find(rank, queue, now), *this,
                                          pack(Event::end, rank * program_.queues.size() + queue));
      return;
    }
    state.searched = false;
    --host_thread(rank, queue).ended;
  }
  if (!stand_ins_.empty() && std::holds_alternative<program::Kernel>(operation)) ends_by_itself(state.run);
  OperationTimes& times = result_.operations[operation_index(queue, state.next)];
  times.begin = std::min(times.begin, state.begin);
  times.end = std::max(times.end, now);
  times.spent += now - state.begin;
  ++times.ran;
  auto& spans = result_.spans[operation_index(queue, state.next)];
  if (!spans.empty()) spans[rank] = {state.begin, now};
  if (observer_ != nullptr) {
    const auto reason =
        std::holds_alternative<program::Wait>(operation) ? program::WaitReason::flag : program::WaitReason::none;
    observer_->operation({rank, queue, program::name_of(operation), reason, state.begin, now});
  }
  state.end = now;
  if (polled_for(queue, operation)) {
    HostThread& thread = host_thread(rank, queue);
    --thread.under_way;
    thread.polled = now;
  }
  const Runner by = runner(rank, operation);
  if (by != Runner::none) state.last = by;
  state.started = false;
  ++state.next;
  schedule_next(rank, queue);
}

}  // namespace moire::replay
