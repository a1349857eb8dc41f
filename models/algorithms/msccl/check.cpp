#include "models/algorithms/msccl/check.hpp"

#include <algorithm>

namespace moire::msccl {

namespace {

// Longer runs are judged with the most and the fewest calls only.
constexpr std::uint64_t long_run = 2'000'000;
constexpr std::uint64_t longest_run = 100'000'000;

Counts count(const Algorithm& algorithm, const Wiring& wiring) {
  Counts counts;
  counts.blocks = wiring.blocks.size();
  counts.connections = wiring.connections.size();
  for (const Gpu& gpu : algorithm.gpus) {
    counts.most_blocks = std::max(counts.most_blocks, gpu.blocks.size());
    for (const ThreadBlock& block : gpu.blocks) {
      counts.steps += block.steps.size();
      counts.most_steps = std::max(counts.most_steps, block.steps.size());
      for (const Step& step : block.steps) ++counts.types[std::string(to_string(step.type))];
    }
  }
  return counts;
}

std::uint64_t calls(const Algorithm& algorithm, std::uint32_t cut) {
  std::uint64_t calls = 0;
  for (const Gpu& gpu : algorithm.gpus) {
    for (const ThreadBlock& block : gpu.blocks) {
      for (const Step& step : block.steps) calls += calls_of(step, cut);
    }
  }
  return calls;
}

// Cuts at which it ends, the fewest calls first. Order depends on them: more chunks a call keep data together, fewer
// give more credits to wait for.
std::vector<std::uint32_t> cuts_to_judge(const Algorithm& algorithm, const Deadlock& deadlock) {
  std::vector<std::uint32_t> cuts = distinct_cuts(algorithm);
  std::reverse(cuts.begin(), cuts.end());
  std::erase_if(cuts, [&](std::uint32_t cut) { return cut <= deadlock.chunks_per_call_le; });
  while (cuts.size() > 1 && calls(algorithm, cuts.back()) > longest_run) cuts.pop_back();
  if (cuts.size() > 2 && calls(algorithm, cuts.back()) > long_run) cuts.erase(cuts.begin() + 1, cuts.end() - 1);
  return cuts;
}

}  // namespace

bool Verdict::correct() const {
  return !deadlock.always() &&
         std::all_of(patterns.begin(), patterns.end(), [](const PatternVerdict& p) { return p.result.correct(); });
}

std::uint64_t Verdict::races() const {
  std::uint64_t most = 0;
  for (const PatternVerdict& p : patterns) most = std::max(most, p.races.count);
  return most;
}

bool Verdict::accepted(const Algorithm& algorithm) const {
  if (deadlock.always() || hangs_at_bytes || !correct()) return false;
  if (!stated_shape(algorithm)) return true;
  return races() == 0 && std::all_of(patterns.begin(), patterns.end(),
                                     [](const PatternVerdict& p) { return p.result.unwritten_reads == 0; });
}

Verdict check(const Algorithm& algorithm, const CheckOptions& options) {
  const Wiring wiring(algorithm);
  Verdict verdict;
  verdict.fifo = options.fifo.value_or(default_fifo(algorithm.protocol));
  verdict.counts = count(algorithm, wiring);
  verdict.bytes = options.bytes;
  std::optional<std::uint32_t> asked;
  if (options.bytes) asked = cut(algorithm, *options.bytes, verdict.fifo).chunks_per_call;
  verdict.deadlock = find_deadlock(wiring, verdict.fifo, asked);
  verdict.hangs_at_bytes = asked && *asked <= verdict.deadlock.chunks_per_call_le;
  if (verdict.deadlock.always()) return verdict;
  for (const CallPattern pattern : call_patterns(algorithm)) verdict.patterns.push_back({pattern, {}, {}});
  bool first = true;
  for (const std::uint32_t cut : cuts_to_judge(algorithm, verdict.deadlock)) {
    const Schedule run = schedule(wiring, cut, verdict.fifo.calls, true);
    for (PatternVerdict& p : verdict.patterns) {
      if (first) p.result = execute(wiring, p.pattern, run.order, cut);
      Races races = find_races(wiring, p.pattern, run.order, cut, verdict.fifo.calls);
      if (first || races.count > p.races.count) p.races = std::move(races);
    }
    first = false;
  }
  return verdict;
}

}  // namespace moire::msccl
