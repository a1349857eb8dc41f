#include "models/algorithms/msccl/deadlock.hpp"

#include <algorithm>

namespace moire::msccl {

namespace {

Blocked describe(const Wiring& wiring, const Wait& wait, std::uint32_t chunks_per_call) {
  const Wiring::Block& block = wiring.blocks[wait.block];
  const Wiring::Block& on = wiring.blocks[wait.on];
  const Step& step = block.steps()[wait.step];
  Blocked blocked;
  blocked.gpu = block.gpu;
  blocked.block = block.index;
  blocked.step = wait.step;
  blocked.call = wait.call;
  blocked.calls = calls_of(step, chunks_per_call);
  blocked.kind = wait.kind;
  blocked.on_gpu = on.gpu;
  blocked.on_block = on.index;
  if (wait.kind == WaitKind::dependency) {
    blocked.on_step = step.depends_step;
    return blocked;
  }
  const Connection& connection = wiring.connections[wait.kind == WaitKind::data ? block.in : block.out];
  blocked.from = connection.from;
  blocked.to = connection.to;
  blocked.channel = connection.channel;
  return blocked;
}

// Everybody who is stuck waits for one that is stuck, so a walk along the waits ends in a cycle.
std::vector<Blocked> cycle_of(const Wiring& wiring, const std::vector<Wait>& stuck, std::uint32_t chunks_per_call) {
  std::vector<std::uint32_t> position(wiring.blocks.size(), nobody);
  for (std::uint32_t i = 0; i < stuck.size(); ++i) position[stuck[i].block] = i;
  std::vector<std::uint32_t> met(stuck.size(), nobody);
  std::vector<std::uint32_t> path;
  std::uint32_t at = 0;
  while (met[at] == nobody) {
    met[at] = static_cast<std::uint32_t>(path.size());
    path.push_back(at);
    at = position[stuck[at].on];
    if (at == nobody) break;  // waits for one that ended: against the rules
  }
  std::vector<Blocked> cycle;
  for (std::size_t i = at == nobody ? 0 : met[at]; i < path.size(); ++i)
    cycle.push_back(describe(wiring, stuck[path[i]], chunks_per_call));
  return cycle;
}

}  // namespace

Deadlock find_deadlock(const Wiring& wiring, const Fifo& fifo, std::optional<std::uint32_t> chunks_per_call) {
  const std::vector<std::uint32_t> cuts = distinct_cuts(wiring.algorithm);
  const auto hangs = [&](std::uint32_t cut) { return !schedule(wiring, cut, fifo.calls, false).complete; };
  // Fewer chunks a call make more calls of the same transfers: what hangs goes on hanging.
  const auto first_that_runs = std::partition_point(cuts.begin(), cuts.end(), hangs);
  Deadlock deadlock;
  if (first_that_runs == cuts.begin()) return deadlock;
  deadlock.chunks_per_call_le = first_that_runs == cuts.end() ? most_chunks : *first_that_runs - 1;
  const std::uint64_t most = deadlock.chunks_per_call_le;
  deadlock.above_bytes = first_that_runs == cuts.end()
                             ? 0
                             : static_cast<std::uint64_t>(wiring.algorithm.chunks) * (fifo.call_bytes / (most + 1));
  const bool here = chunks_per_call && *chunks_per_call <= most;
  deadlock.at_chunks_per_call = here ? *chunks_per_call : deadlock.chunks_per_call_le;
  const Schedule stuck = schedule(wiring, deadlock.at_chunks_per_call, fifo.calls, false);
  deadlock.cycle = cycle_of(wiring, stuck.stuck, deadlock.at_chunks_per_call);
  return deadlock;
}

}  // namespace moire::msccl
