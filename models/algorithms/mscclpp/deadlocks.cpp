#include "models/algorithms/mscclpp/deadlocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace moire::mscclpp {

namespace {

bool signals_over(const Operation& op, const ChannelEnd& end) {
  return gives_signal(op.type) && op.channel_type == end.type &&
         std::count(op.channels.begin(), op.channels.end(), end.channel) > 0;
}

// Returns the reason why no signal comes over this channel: the operation at which a thread block of the peer waits
// instead of signalling, or that the peer has no such channel or has no more signals.
std::string who_gives(const State& state, const ChannelEnd& end) {
  const std::int32_t peer = state.plan.gpus[end.gpu].of(end.type)[end.channel].peer;
  const auto far = state.ends.far(end);
  if (!far) return fmt::format("gpu {} has no such channel", peer);
  for (const Worker& w : state.workers) {
    if (w.gpu != far->gpu || w.ended()) continue;
    for (std::size_t i = w.next; i < w.operations->size(); ++i) {
      const Operation& outer = (*w.operations)[i];
      const auto gives = [&far](const Operation& op) { return signals_over(op, *far); };
      if (gives(outer) || std::any_of(outer.inner.begin(), outer.inner.end(), gives)) {
        return fmt::format("gpu {} tb {} would signal at op {}, but waits at {}", peer, w.block, i,
                           name_of(state.plan, w.site()));
      }
    }
  }
  return fmt::format("gpu {} does not signal any more", peer);
}

std::string missing_packets(const State& state, const Worker& w, const Operation& op) {
  for (const Operand& operand : op.sources) {
    if (!operand.packets) continue;
    for (const auto& run : state.runs(w, op, operand, w.in_pipeline() ? std::optional(w.round) : std::nullopt)) {
      for (const std::size_t cell : run) {
        if (!state.cells.has_packet(cell)) {
          return fmt::format("in {}, which no operation sent", state.layout.name(cell));
        }
      }
    }
  }
  return "that no operation sent";
}

// Returns what a thread block waits for at the operation `op`, as "waits for ...".
std::string wait_of(State& state, const Worker& w, const Operation& op) {
  switch (op.type) {
    case OpType::wait:
    case OpType::relaxed_wait:
      for (const std::uint32_t channel : op.channels) {
        const ChannelEnd end{w.gpu, op.channel_type, channel};
        const Semaphore& semaphore = state.signals[end];
        if (semaphore.can_take()) continue;
        return fmt::format("waits for signal {} of gpu {} on {} channel {}: {}", semaphore.taken + 1,
                           state.plan.gpus[w.gpu].of(op.channel_type)[channel].peer, to_string(op.channel_type),
                           channel, who_gives(state, end));
      }
      return {};
    case OpType::barrier:
      return fmt::format("waits at barrier {}, which {} of {} thread blocks have reached", op.barrier,
                         state.barriers[{w.gpu, op.barrier}].arrived.size(), op.barrier_blocks);
    case OpType::acquire:
      for (const std::uint32_t id : op.semaphores) {
        const Semaphore& semaphore = state.semaphores[{w.gpu, id}];
        if (semaphore.can_take()) continue;
        return fmt::format("waits for semaphore {}, which was released {} times and acquired as often", id,
                           semaphore.given.size());
      }
      return {};
    default:
      return "waits for packets " + missing_packets(state, w, op);
  }
}

}  // namespace

void report_deadlocks(State& state) {
  for (const Worker& w : state.workers) {
    if (w.ended()) continue;
    const Site at = w.site();
    const std::string name = name_of(state.plan, at);
    state.faults.add(Fault::Kind::deadlock, at,
                     fmt::format("deadlock: {} {}", name, wait_of(state, w, operation_at(state.plan, at))),
                     "find an order in which every wait is met", "deadlock " + name);
  }
}

}  // namespace moire::mscclpp
