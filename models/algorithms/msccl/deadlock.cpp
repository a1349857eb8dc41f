#include "models/algorithms/msccl/deadlock.hpp"

#include <algorithm>
#include <array>

namespace moire::msccl {

namespace {

Blocked describe(const Algorithm& algorithm, const proof::Program& program, const proof::Wait& wait,
                 std::uint32_t chunks_per_call) {
  const proof::Program::Block& block = program.blocks[wait.block];
  const proof::Program::Block& on = program.blocks[wait.on];
  const proof::Step& step = block.steps[wait.step];
  Blocked blocked;
  blocked.gpu = block.gpu;
  blocked.block = block.index;
  blocked.step = wait.step;
  blocked.call = wait.call;
  blocked.calls = proof::calls_of(step.count, chunks_per_call);
  blocked.kind = wait.kind;
  blocked.on_gpu = on.gpu;
  blocked.on_block = on.index;
  if (wait.kind == WaitKind::dependency) {
    blocked.on_step = algorithm.gpus[block.gpu].blocks[block.index].steps[wait.step].depends_step;
    return blocked;
  }
  const proof::Connection& connection = program.connections[wait.kind == WaitKind::data ? step.in : step.out];
  blocked.from = connection.from;
  blocked.to = connection.to;
  blocked.channel = connection.channel;
  return blocked;
}

}  // namespace

Deadlock find_deadlock(const Algorithm& algorithm, const proof::Program& program, const Fifo& fifo,
                       std::optional<std::uint32_t> chunks_per_call) {
  const std::vector<std::uint32_t> cuts = distinct_cuts(algorithm);
  const auto hangs = [&](std::uint32_t cut) { return !proof::schedule(program, cut, fifo.calls, false).complete; };
  // A cut is a number of chunks per call. With fewer chunks per call, the same transfers take more calls, and
  // connections hold a fixed number of calls. So an algorithm that hangs at one cut also hangs at all smaller cuts.
  const auto first_that_runs = std::partition_point(cuts.begin(), cuts.end(), hangs);
  Deadlock deadlock;
  if (first_that_runs == cuts.begin()) return deadlock;
  deadlock.chunks_per_call_le = first_that_runs == cuts.end() ? most_chunks : *first_that_runs - 1;
  const std::uint64_t most = deadlock.chunks_per_call_le;
  deadlock.above_bytes =
      first_that_runs == cuts.end() ? 0 : static_cast<std::uint64_t>(algorithm.chunks) * (fifo.call_bytes / (most + 1));
  const bool here = chunks_per_call && *chunks_per_call <= most;
  deadlock.at_chunks_per_call = here ? *chunks_per_call : deadlock.chunks_per_call_le;
  const proof::Schedule stuck = proof::schedule(program, deadlock.at_chunks_per_call, fifo.calls, false);
  for (const proof::Wait& wait : proof::cycle_of(program, stuck.stuck))
    deadlock.cycle.push_back(describe(algorithm, program, wait, deadlock.at_chunks_per_call));
  return deadlock;
}

std::vector<std::uint32_t> distinct_cuts(const Algorithm& algorithm) {
  std::array<bool, most_chunks + 1> counts{};
  for (const Gpu& gpu : algorithm.gpus) {
    for (const ThreadBlock& block : gpu.blocks) {
      for (const Step& step : block.steps) counts[step.count] = true;
    }
  }
  std::vector<std::uint32_t> cuts = {1};
  for (std::uint32_t chunks = 2; chunks <= most_chunks; ++chunks) {
    for (std::uint32_t count = 1; count <= most_chunks; ++count) {
      if (!counts[count] || (count + chunks - 1) / chunks == (count + chunks - 2) / (chunks - 1)) continue;
      cuts.push_back(chunks);
      break;
    }
  }
  return cuts;
}

}  // namespace moire::msccl
