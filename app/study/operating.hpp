// Determines the clock at which a run works. An operating point states this clock, or requires the highest clock that
// the power limit and the matrix units allow if the program is repeated forever.
#pragma once

#include <functional>
#include <memory>

#include "app/study/simulate.hpp"

namespace moire::study {

// Returns the run with the operating point `stated` by the scenario, or else that of the system. Returns the same run
// if neither has an operating point, and null if `run` is null. If the GPU cannot work at the operating point, reports
// an error and returns null.
PreparedRunPtr with_operating_point(PreparedRunPtr run, const config::Node* stated, config::Diagnostics& diagnostics);

// Returns the run on a system whose GPUs have `share` of the clock in their hardware file.
PreparedRun at_clock(const PreparedRun& run, double share);
// Returns the run on the same system, with a fixed clock as its operating point: `share` of the clock in the hardware
// file.
PreparedRun held_at_clock(const PreparedRun& run, double share);

// Ratios of power and clock to their limits while the program is repeated, for the GPU with the largest ratios. A ratio
// above 1 means that the limit is exceeded.
struct Excess {
  double power = 0;  // mean power / the power that the controller holds
  double clock = 0;  // share of the matrix rate x clock^2 / the largest such product that the controller allows
};

// Searches the highest clock at which no limit is exceeded, and returns the result of the run at this clock. Clocks are
// shares of the clock in the hardware file, from `lowest` to 1. The search ends when a limit is met to 0.05 %, or when
// the share is known to 0.0005. `at` simulates at a share of the clock, and `excess` returns the ratios of its result.
// The search assumes that these ratios grow with the clock.
RunResult steady_state(double lowest, const std::function<RunResult(double)>& at,
                       const std::function<Excess(const RunResult&, double)>& excess);

// Returns the result of a run at its operating point. `simulated` simulates a run at a fixed clock; `last` is false
// while the clock is still being searched. If an observer watches the run (`observed`), the run is simulated once more
// at the clock that was found, so that the observer sees only this simulation.
RunResult at_operating_point(const PreparedRun& run,
                             const std::function<RunResult(const PreparedRun&, bool last)>& simulated, bool observed);

}  // namespace moire::study
