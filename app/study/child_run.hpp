// Runs simulations in child processes, which send the results back to this process.
#pragma once

#include <functional>
#include <vector>

#include "app/study/packed.hpp"
#include "app/study/simulate.hpp"

namespace moire::study {

// Calls `simulated` in a child process and returns its result. Meanwhile calls `tick` a few times per second.
RunResult simulate_in_child(const std::function<RunResult()>& simulated, const std::function<void()>& tick);

// The same for many simulations, at most `at_once` in parallel. Calls `begin` with the number of each simulation that
// starts.
std::vector<RunResult> simulate_in_children(const std::vector<std::function<RunResult()>>& simulated,
                                            std::size_t at_once, const std::function<void(std::size_t)>& begin,
                                            const std::function<void()>& tick);

// Calls `simulated` here, or in a child process if the run uses SimGrid's engine. A process and its children can have
// only one such engine, so the process that calls this for several simulations must not simulate with SimGrid itself.
RunResult simulate_apart(const PreparedRun& run, const std::function<RunResult()>& simulated);

// Simulates a run once more, for example without some kinds of sharing (`apart`).
RunResult simulate_more(const PreparedRun& run, const machine::Apart& apart = {});

// Adds `stats`, the cost of a further simulation of a run, to the cost of the run.
void add(const RunStats& stats, RunStats& to);

template <MaybeConst<Metric> T, class Each>
void each_field(T& metric, const Each& each) {
  // The kind is sent as an index, not as a pointer: the list of kinds may not exist yet when the process is forked.
  auto kind = metric.info == nullptr ? 0 : metric.info - metric_infos().data();
  each(kind, metric.value, metric.subject, metric.phase, metric.recorded);
  if constexpr (!std::is_const_v<T>) {
    metric.info = &metric_infos()[static_cast<std::size_t>(kind)];
    metric.rename(metric.subject);
  }
}

void each_field(MaybeConst<QueueResult> auto& queue, const auto& each) {
  each(queue.name, queue.number, queue.end, queue.waited);
}

void each_field(MaybeConst<RunResult> auto& result, const auto& each) {
  each(result.time, result.queues, result.metrics, result.notes, result.perturbed, result.unfelt, result.clock_share,
       result.hottest_watts, result.matrix_share, result.deadlock, result.stats, result.fold.images,
       result.fold.why_not);
}

}  // namespace moire::study
