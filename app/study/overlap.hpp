// How well queues run beside each other: each alone, the ideal, and what part of it a run reaches.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "app/study/simulate.hpp"

namespace moire::study {

// The metrics of one run that `isolated` queues are held against: `<queue>_isolated_us`, their sum and their longest,
// what the run makes of it. `alone`: the run's own queues alone where the isolated ones are of another variant.
std::vector<Metric> overlap_metrics(const RunResult& run, const std::vector<QueueResult>& isolated,
                                    const std::vector<QueueResult>* alone);

// Adds these metrics to the runs of a scenario. Every queue alone is a simulation in a process of its own; what several
// runs need is simulated once.
class Overlap {
 public:
  explicit Overlap(const Scenario& scenario) : scenario_(scenario) {}

  // Does nothing where the scenario or the number of the run's queues asks for nothing, or a queue alone does not end.
  void add(const Run& run, RunResult& result, const std::function<void()>& tick);

 private:
  struct Alone {
    std::vector<QueueResult> queues;
    std::string deadlock;
    RunStats stats;
  };
  void add_blame(const Run& run, RunResult& result, const Alone& own, const Alone& isolated,
                 const std::function<void()>& tick) const;
  const Alone& alone(const Run& run, const std::function<void()>& tick);
  bool wanted(const RunResult& result) const;

  const Scenario& scenario_;
  std::map<std::size_t, Alone> alone_;  // by run
};

}  // namespace moire::study
