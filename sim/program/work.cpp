#include "sim/program/work.hpp"

#include <algorithm>
#include <cstdint>

namespace moire::program {

namespace {

constexpr std::int64_t samples = 8;           // sampled ranks per kernel, and sampled workgroups or items per rank
constexpr std::uint32_t most_steps = 20'000;  // limit per workgroup; a longer workgroup counts as this long

// Calls `visit` with up to `samples` evenly spaced numbers below `count`, including the first and the last.
template <typename Visit>
void sample(std::int64_t count, const Visit& visit) {
  const std::int64_t taken = std::min(count, samples);
  for (std::int64_t i = 0; i < taken; ++i) visit(taken == 1 ? 0 : i * (count - 1) / (taken - 1));
}

template <typename Ask>
double steps_until(const Ask& ask) {
  std::uint32_t step = 0;
  for (Phase phase; step < most_steps && ask(step, phase); phase = {}) step += 1 + phase.skipped;
  return std::min(step, most_steps);
}

double steps_of_workgroup(const KernelBody& body, Rank rank, std::int64_t workgroup) {
  const std::uint32_t strands = body.strands(rank);
  if (strands == 1)
    return steps_until([&](std::uint32_t step, Phase& phase) { return body.phase(rank, workgroup, step, phase); });
  double steps = 0;
  for (std::uint32_t strand = 0; strand < strands; ++strand) {
    steps += steps_until(
        [&](std::uint32_t step, Phase& phase) { return body.strand_phase(rank, workgroup, strand, step, phase); });
  }
  return steps;
}

// Estimates a sum over `count` numbers as the mean over a sample times `count`.
template <typename Ask>
double sum_over(std::int64_t count, const Ask& ask) {
  double sum = 0;
  sample(count, [&](std::int64_t number) { sum += ask(number); });
  return count == 0 ? 0 : sum / static_cast<double>(std::min(count, samples)) * static_cast<double>(count);
}

double steps_of_rank(const KernelBody& body, Rank rank) {
  return sum_over(body.workgroups(rank), [&](std::int64_t number) { return steps_of_workgroup(body, rank, number); }) +
         sum_over(body.items(rank), [&](std::int64_t item) {
           return steps_until(
               [&](std::uint32_t step, Phase& phase) { return body.item_phase(rank, item, step, phase); });
         });
}

}  // namespace

Work work_of(const Program& program) {
  Work work;
  std::vector<Rank> ranks;
  for (const Queue& queue : program.queues) {
    for (const Operation& operation : queue.operations) {
      const auto* kernel = std::get_if<Kernel>(&operation);
      if (kernel == nullptr) continue;
      ranks.clear();
      for (Rank rank = 0; rank < program.ranks(); ++rank) {
        if (!runs_on(operation, rank)) continue;
        ranks.push_back(rank);
        work.workgroups += static_cast<double>(kernel->body->workgroups(rank));
      }
      work.steps += sum_over(static_cast<std::int64_t>(ranks.size()), [&](std::int64_t number) {
        return steps_of_rank(*kernel->body, ranks[static_cast<std::size_t>(number)]);
      });
    }
  }
  return work;
}

}  // namespace moire::program
