// The clock at which a run works: the one that its operating point states, or the one that the power limit and the
// matrix units allow if the program is repeated forever.
#pragma once

#include <functional>
#include <memory>

#include "app/study/simulate.hpp"

namespace moire::study {

// Applies the operating point of the scenario or else of the system. If the GPU cannot work there, reports it and
// returns null. A null `run` stays null, and a run without an operating point stays unchanged.
PreparedRunPtr with_operating_point(PreparedRunPtr run, const config::Node* stated, config::Diagnostics& diagnostics);

// The run with all GPUs at `share` of the clock in their hardware file.
PreparedRun at_clock(const PreparedRun& run, double share);
// The run with this fixed clock as its operating point.
PreparedRun held_at_clock(const PreparedRun& run, double share);

// Ratios to the limits, of the GPU for which they are largest, when the program is repeated. Above 1, a limit is
// exceeded.
struct Excess {
  double power = 0;  // mean power / the power that the controller holds
  double clock = 0;  // clock / the clock that matrix units allow
};

// The highest share of the clock at which no limit is exceeded, and the run there. `at` simulates at a share. Assumes
// that excess grows with the clock; accurate to 0.05 %.
RunResult steady_state(double lowest, const std::function<RunResult(double)>& at,
                       const std::function<Excess(const RunResult&, double)>& excess);

// The run at its operating point. `simulated` simulates a run; `last` is true for the one whose result counts.
RunResult at_operating_point(const PreparedRun& run,
                             const std::function<RunResult(const PreparedRun&, bool last)>& simulated, bool observed);

}  // namespace moire::study
