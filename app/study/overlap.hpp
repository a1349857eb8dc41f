// Determines how much of the time of overlapping queues is hidden: the time of each queue alone, the ideal, and the
// fraction of the ideal that a run reaches.
#pragma once

#include <string>
#include <vector>

#include "app/study/blame.hpp"
#include "app/study/child_run.hpp"
#include "app/study/prepare.hpp"

namespace moire::study {

// Metrics that compare a run with its `isolated` queues: `<queue>_isolated_us`, their sum, their maximum, and the
// speedup reached. `alone`: the queues alone with the settings of the run, if `isolated` has those of another variant.
std::vector<Metric> overlap_metrics(const RunResult& run, const std::vector<QueueResult>& isolated,
                                    const std::vector<QueueResult>* alone);

// A run, and further simulations with which it is compared.
struct Simulated {
  RunResult result;
  bool held = false;               // true: the run is compared with an ideal; false: `blame` is empty
  std::vector<QueueResult> alone;  // each queue alone, with the settings of the run; may be empty
  std::string alone_deadlock;      // the report if one of them deadlocks
  std::vector<QueueBlame> blame;
};

// Simulates each queue alone, and the runs for blame, if the scenario or the number of queues requires it. Also
// simulates each queue alone if other variants are compared with this one.
void simulate_parts(const Scenario& scenario, const Run& run, const PreparedRun& prepared, Simulated& simulated);

// Simulates a run without its `perturb`, and adds the metrics of the slow-down.
void simulate_unperturbed(const PreparedRun& prepared, RunResult& result);

// Adds the metrics of overlap. `isolated`: the run whose queues alone define the ideal.
void add_overlap(const Scenario& scenario, const Simulated& isolated, Simulated& own);

void each_field(MaybeConst<QueueBlame> auto& blame, const auto& each) { each(blame.queue, blame.lost); }

void each_field(MaybeConst<Simulated> auto& simulated, const auto& each) {
  each(simulated.result, simulated.held, simulated.alone, simulated.alone_deadlock, simulated.blame);
}

}  // namespace moire::study
