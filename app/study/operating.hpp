// Determines the clock at which a run works: the clock that its operating point states, or the highest clock that the
// power limit and the matrix units allow if the program is repeated forever.
#pragma once

#include <functional>
#include <memory>

#include "app/study/simulate.hpp"

namespace moire::study {

// Applies the operating point of the scenario or else of the system. If the GPU cannot work at this point, reports it
// and returns null. A null `run` stays null, and a run without an operating point stays unchanged.
PreparedRunPtr with_operating_point(PreparedRunPtr run, const config::Node* stated, config::Diagnostics& diagnostics);

// Returns the run with all GPUs at `share` of the clock in their hardware file.
PreparedRun at_clock(const PreparedRun& run, double share);
// Returns the run with `share` of the clock in the hardware file as its fixed operating point.
PreparedRun held_at_clock(const PreparedRun& run, double share);

// Ratios of power and clock to their limits while the program is repeated, for the GPU with the largest ratios. A ratio
// above 1 means that the limit is exceeded.
struct Excess {
  double power = 0;  // mean power / the power that the controller holds
  double clock = 0;  // clock / the clock that matrix units allow
};

// Returns the run at the highest share of the clock at which no limit is exceeded, to an accuracy of 0.05 %. `at`
// simulates at a share of the clock. The search assumes that `excess` grows with the clock.
RunResult steady_state(double lowest, const std::function<RunResult(double)>& at,
                       const std::function<Excess(const RunResult&, double)>& excess);

// Returns the run at its operating point. `simulated` simulates a run; `last` is true if its result is the final one.
// `observed`: an observer watches the run, which therefore is simulated once more when its clock is known.
RunResult at_operating_point(const PreparedRun& run,
                             const std::function<RunResult(const PreparedRun&, bool last)>& simulated, bool observed);

}  // namespace moire::study
