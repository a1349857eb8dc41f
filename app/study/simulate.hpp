// One simulation: a machine, a replay, its figures.
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

// What the simulation itself cost. Never part of a result.
struct RunStats {
  std::uint64_t events = 0;
  std::uint64_t instants = 0;
  std::uint64_t solves = 0;  // of the sharing law
  double wall_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// A queue that has operations.
struct QueueResult {
  std::string name;
  std::uint32_t number = 0;  // in the program
  Time end;                  // latest over ranks, from the run's begin
  Time waited;               // its kernels in all, from launch to their first workgroup's place
  bool operator==(const QueueResult&) const = default;
};

enum class RunEnd { well, deadlock, failure, interrupted };

struct RunResult {
  Time time;
  std::vector<QueueResult> queues;
  std::vector<Metric> metrics;
  std::vector<std::string> notes;   // what operators decided and why, and who is late or slow
  bool perturbed = false;           // parts of the machine were late or slow
  std::vector<std::string> unfelt;  // what of `perturb` had nothing to slow
  double clock_share = 1;           // of the file's clock, at which the GPUs worked
  double hottest_watts = 0;         // with an operating point: mean power of the GPU that draws most, repeated
  double matrix_share = 0;          // and the most of a GPU's matrix rate that the program uses, repeated
  std::string deadlock;             // the report; empty where every operation ended
  replay::Fold fold;
  RunStats stats;
  // Of a run of a study. One that did not end well has neither time nor metrics.
  RunEnd end = RunEnd::well;
  std::string reason;  // why it did not end well

  bool ended_well() const { return end == RunEnd::well; }
};

double microseconds(Time time);  // exact to the last digit of its decimal form

// `apart`: what queues do not share, in a counterfactual run. `pulse`: where it tells how far it is.
RunResult simulate(const PreparedRun& run, program::Observer* observer, const machine::Apart& apart = {},
                   core::Pulse* pulse = nullptr);

}  // namespace moire::study
