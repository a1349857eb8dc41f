// How well queues run beside each other: each alone, the ideal, and what part of it a run reaches.
#pragma once

#include <string>
#include <vector>

#include "app/study/blame.hpp"
#include "app/study/child_run.hpp"
#include "app/study/prepare.hpp"

namespace moire::study {

// The metrics of one run that `isolated` queues are held against: `<queue>_isolated_us`, their sum and their longest,
// what the run makes of it. `alone`: the run's own queues alone where the isolated ones are of another variant.
std::vector<Metric> overlap_metrics(const RunResult& run, const std::vector<QueueResult>& isolated,
                                    const std::vector<QueueResult>* alone);

// A run, and what the same process simulated to hold it against.
struct Simulated {
  RunResult result;
  bool held = false;               // against an ideal; what follows is empty if not
  std::vector<QueueResult> alone;  // every queue alone, with the settings of the run
  std::string alone_deadlock;      // the report where one of them does not end
  std::vector<QueueBlame> blame;
};

// Simulates each queue of the run alone and what blame asks for, where the scenario or the number of its queues asks
// for it, and what it is asked for as the reference of others.
void simulate_parts(const Scenario& scenario, const Run& run, const PreparedRun& prepared, Simulated& simulated);

// Simulates a run without its `perturb`, and adds what that costs.
void simulate_unperturbed(const PreparedRun& prepared, RunResult& result);

// Adds the metrics of it. `isolated`: the run whose queues alone are the ideal's.
void add_overlap(const Scenario& scenario, const Simulated& isolated, Simulated& own);

void each_field(MaybeConst<QueueBlame> auto& blame, const auto& each) { each(blame.queue, blame.lost); }

void each_field(MaybeConst<Simulated> auto& simulated, const auto& each) {
  each(simulated.result, simulated.held, simulated.alone, simulated.alone_deadlock, simulated.blame);
}

}  // namespace moire::study
