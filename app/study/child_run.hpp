// Simulations in child processes, which send their results back.
#pragma once

#include <functional>
#include <vector>

#include "app/study/packed.hpp"
#include "app/study/simulate.hpp"

namespace moire::study {

RunResult simulate_in_child(const std::function<RunResult()>& simulated, const std::function<void()>& tick);

// The same for many, at most `at_once` in parallel; `begin` gets the number of each that starts.
std::vector<RunResult> simulate_in_children(const std::vector<std::function<RunResult()>>& simulated,
                                            std::size_t at_once, const std::function<void(std::size_t)>& begin,
                                            const std::function<void()>& tick);

// Calls `simulated` here, or in a child if the run uses SimGrid's engine, of which a process and its children can have
// only one: all simulations of such a run are made in children of a process that makes none itself.
RunResult simulate_apart(const PreparedRun& run, const std::function<RunResult()>& simulated);

// A further simulation of a run.
RunResult simulate_more(const PreparedRun& run, const machine::Apart& apart = {});

// Adds the cost of a further simulation of the run.
void add(const RunStats& stats, RunStats& to);

template <MaybeConst<Metric> T, class Each>
void each_field(T& metric, const Each& each) {
  // The kind is sent as an index: a process may be forked before the list of kinds exists.
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
