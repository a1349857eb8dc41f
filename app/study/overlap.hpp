// Determines how much of the time of overlapping queues is hidden: the time of each queue alone, the ideal, and the
// fraction of the ideal that a run reaches.
#pragma once

#include <string>
#include <vector>

#include "app/study/blame.hpp"
#include "app/study/child_run.hpp"
#include "app/study/prepare.hpp"

namespace moire::study {

// Returns the metrics that compare a run with its queues alone: `<queue>_isolated_us`, the sum and the maximum of
// these, the speedup of the run over the sum, and the fraction of the ideal speedup. `isolated` has the times of the
// queues alone that define the ideal. `alone` has their times with the settings of this run. Without a reference
// variant `alone` is null, because `isolated` then has the settings of this run.
std::vector<Metric> overlap_metrics(const RunResult& run, const std::vector<QueueResult>& isolated,
                                    const std::vector<QueueResult>* alone);

// A run, and the results of further simulations with which it is compared.
struct Simulated {
  RunResult result;
  bool held = false;               // true: the run is compared with an ideal; false: `blame` is empty
  std::vector<QueueResult> alone;  // each queue alone, with the settings of the run; may be empty
  std::string alone_deadlock;      // the report if a queue deadlocks alone; else empty
  std::vector<QueueBlame> blame;
};

// Simulates each queue alone if the run is compared with an ideal, or if its variant is the reference (`to`). A run is
// compared with an ideal if `ideal` is overlap, or if `ideal` is absent and the run has two queues. For such a run also
// simulates the counterfactual runs for blame, if the scenario requests blame.
void simulate_parts(const Scenario& scenario, const Run& run, const PreparedRun& prepared, Simulated& simulated);

// Simulates a run without its `perturb`, and adds unperturbed_us and slow_down_percent to `result`.
void simulate_unperturbed(const PreparedRun& prepared, RunResult& result);

// Adds the metrics of overlap and blame to `own`. The queues alone of `isolated` define the ideal: it is the run of the
// reference variant at the same point, or `own` itself if there is no reference.
void add_overlap(const Scenario& scenario, const Simulated& isolated, Simulated& own);

void each_field(MaybeConst<QueueBlame> auto& blame, const auto& each) { each(blame.queue, blame.lost); }

void each_field(MaybeConst<Simulated> auto& simulated, const auto& each) {
  each(simulated.result, simulated.held, simulated.alone, simulated.alone_deadlock, simulated.blame);
}

}  // namespace moire::study
