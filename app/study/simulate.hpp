// One simulation: builds a machine, replays a program and computes the metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/study/metrics.hpp"
#include "app/study/prepare.hpp"
#include "models/hardware/machine/machine.hpp"
#include "sim/core/pulse.hpp"
#include "sim/core/quantity.hpp"
#include "sim/program/observer.hpp"

namespace moire::study {

// What the simulation cost on the host. It says nothing about the simulated machine.
struct RunStats {
  std::uint64_t events = 0;
  std::uint64_t instants = 0;  // simulated times with at least one event
  std::uint64_t solves = 0;    // how often rates of activities that share resources were computed
  double wall_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// The times of a queue that has operations.
struct QueueResult {
  std::string name;
  std::uint32_t number = 0;  // in the program
  Time end;                  // when the last rank ends the queue, from the begin of the run
  Time waited;               // sum over its kernels: from launch to the placement of the first workgroup
  bool operator==(const QueueResult&) const = default;
};

enum class RunEnd { well, deadlock, failure, interrupted };

struct RunResult {
  Time time;
  std::vector<QueueResult> queues;
  std::vector<Metric> metrics;
  std::vector<std::string> notes;   // decisions of operators with reasons, and which parts are late or slow
  bool perturbed = false;           // parts of the machine were late or slow
  std::vector<std::string> unfelt;  // parts of `perturb` that had no effect
  double clock_share = 1;           // clock of the GPUs over the clock in their hardware file
  double hottest_watts = 0;  // with an operating point: mean power of the GPU that draws most, for a repeated program
  double matrix_share = 0;   // likewise: mean matrix rate over the peak rate, of the GPU for which it is largest
  std::string deadlock;      // the report; empty if every operation ended
  replay::Fold fold;
  RunStats stats;
  // In a study: a run that did not end well has neither time nor metrics.
  RunEnd end = RunEnd::well;
  std::string reason;  // why it did not end well

  bool ended_well() const { return end == RunEnd::well; }
};

double microseconds(Time time);  // returns picoseconds / 1e6, rounded once

// Simulates a prepared run. `observer` may be null. `apart` has the kinds of sharing between queues that a
// counterfactual run removes (blame.hpp). The simulation reports its progress in `pulse`, if it is not null.
RunResult simulate(const PreparedRun& run, program::Observer* observer, const machine::Apart& apart = {},
                   core::Pulse* pulse = nullptr);

}  // namespace moire::study
