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

// The cost of the simulation itself, which is not part of the result.
struct RunStats {
  std::uint64_t events = 0;
  std::uint64_t instants = 0;
  std::uint64_t solves = 0;  // times that the sharing law was solved
  double wall_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// A queue that has operations.
struct QueueResult {
  std::string name;
  std::uint32_t number = 0;  // in the program
  Time end;                  // latest over all ranks, from the begin of the run
  Time waited;               // all its kernels: from launch to the placement of the first workgroup
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
  double clock_share = 1;           // clock of the GPUs over that in their file
  double hottest_watts = 0;  // with an operating point: mean power of the GPU that draws most, for a repeated program
  double matrix_share = 0;   // likewise: largest share of a GPU's matrix rate in use
  std::string deadlock;      // the report; empty if every operation ended
  replay::Fold fold;
  RunStats stats;
  // In a study: a run that did not end well has neither time nor metrics.
  RunEnd end = RunEnd::well;
  std::string reason;  // why it did not end well

  bool ended_well() const { return end == RunEnd::well; }
};

double microseconds(Time time);  // picoseconds / 1e6, rounded once

// `apart`: the kinds of sharing that a counterfactual run removes. `pulse`: where the simulation reports its progress.
RunResult simulate(const PreparedRun& run, program::Observer* observer, const machine::Apart& apart = {},
                   core::Pulse* pulse = nullptr);

}  // namespace moire::study
