#include "models/algorithms/msccl/check.hpp"

#include <algorithm>

#include "models/algorithms/proof/kept.hpp"

namespace moire::msccl {

namespace {

// A cut is a number of chunks per call. If an algorithm has more calls than long_run at some cut, only the cuts with
// the fewest and the most calls are checked. Cuts with more calls than longest_run are not checked, unless no other cut
// is left.
constexpr std::uint64_t long_run = 2'000'000;
constexpr std::uint64_t longest_run = 100'000'000;

Counts count(const Algorithm& algorithm, const proof::Program& program) {
  Counts counts;
  counts.blocks = program.blocks.size();
  counts.connections = program.connections.size();
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

std::uint64_t calls(const proof::Program& program, std::uint32_t cut) {
  std::uint64_t calls = 0;
  for (const proof::Program::Block& block : program.blocks) {
    for (const proof::Step& step : block.steps) calls += proof::calls_of(step.count, cut);
  }
  return calls;
}

// Returns the cuts (numbers of chunks per call) at which check() looks for races, the one with the fewest calls first.
// Cuts at which the algorithm deadlocks and cuts with too many calls are left out. Races depend on the cut: with more
// chunks per call, more data moves in one call; with fewer chunks per call, more calls have to wait for credits, and
// these waits put accesses in order.
std::vector<std::uint32_t> cuts_to_judge(const Algorithm& algorithm, const proof::Program& program,
                                         const Deadlock& deadlock) {
  std::vector<std::uint32_t> cuts = distinct_cuts(algorithm);
  std::reverse(cuts.begin(), cuts.end());
  std::erase_if(cuts, [&](std::uint32_t cut) { return cut <= deadlock.chunks_per_call_le; });
  while (cuts.size() > 1 && calls(program, cuts.back()) > longest_run) cuts.pop_back();
  if (cuts.size() > 2 && calls(program, cuts.back()) > long_run) cuts.erase(cuts.begin() + 1, cuts.end() - 1);
  return cuts;
}

}  // namespace

bool Verdict::correct() const {
  return !deadlock.always() &&
         std::all_of(patterns.begin(), patterns.end(), [](const PatternVerdict& p) { return p.result.correct(); });
}

bool Verdict::coded_right() const {
  return std::none_of(patterns.begin(), patterns.end(),
                      [](const PatternVerdict& p) { return p.codings.first_wrong.has_value(); });
}

std::uint64_t Verdict::races() const {
  std::uint64_t most = 0;
  for (const PatternVerdict& p : patterns) most = std::max(most, p.races.count);
  return most;
}

bool Verdict::accepted(const Algorithm& algorithm) const {
  if (deadlock.always() || hangs_at_bytes || !correct() || !coded_right()) return false;
  if (!stated_shape(algorithm)) return true;
  return races() == 0 && std::all_of(patterns.begin(), patterns.end(),
                                     [](const PatternVerdict& p) { return p.result.unwritten_reads == 0; });
}

Verdict check(const Algorithm& algorithm, const CheckOptions& options) {
  const proof::Program program = program_of(algorithm);
  Verdict verdict;
  verdict.fifo = options.fifo.value_or(default_fifo(algorithm.protocol));
  verdict.counts = count(algorithm, program);
  verdict.bytes = options.bytes;
  std::optional<std::uint32_t> asked;
  if (options.bytes) asked = cut(algorithm, *options.bytes, verdict.fifo).chunks_per_call;
  verdict.deadlock = find_deadlock(algorithm, program, verdict.fifo, asked);
  verdict.hangs_at_bytes = asked && *asked <= verdict.deadlock.chunks_per_call_le;
  if (verdict.deadlock.always()) return verdict;
  std::vector<proof::Layout> layouts;
  for (const CallPattern pattern : call_patterns(algorithm)) {
    verdict.patterns.push_back({pattern, {}, {}, {}});
    layouts.push_back(layout_of(algorithm, pattern));
  }
  bool first = true;
  for (const std::uint32_t cut : cuts_to_judge(algorithm, program, verdict.deadlock)) {
    const proof::Schedule run = proof::schedule(program, cut, verdict.fifo.calls, true);
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      PatternVerdict& p = verdict.patterns[i];
      if (first) {
        const proof::Goal goal(algorithm.collective, algorithm.ranks(), algorithm.chunks, layouts[i]);
        p.result = proof::execute(program, layouts[i], goal, run.order, cut);
        p.codings = proof::follow_codings(program, layouts[i], goal, run.order, cut);
      }
      proof::Races races = proof::find_races(program, layouts[i], run.order, cut, verdict.fifo.calls);
      if (first || races.count > p.races.count) p.races = std::move(races);
    }
    first = false;
  }
  return verdict;
}

std::shared_ptr<const Verdict> proved(const Algorithm& algorithm, const Fifo& fifo) {
  static proof::Kept<std::pair<Algorithm, Fifo>, Verdict> kept;
  return kept.get({algorithm, fifo}, algorithm.name, [&] { return check(algorithm, {{}, fifo}); });
}

}  // namespace moire::msccl
