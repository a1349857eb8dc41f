// At what clock a run works: as its operating point says, or as the power limit and the matrix units leave it when the
// program is repeated for ever.
#pragma once

#include <functional>
#include <memory>

#include "app/study/simulate.hpp"

namespace moire::study {

// Checks the operating point that the scenario states, else the system: nothing, with the reason at its place, where
// the GPU cannot work there. Null `run` stays null; a run without any operating point stays as it is.
PreparedRunPtr with_operating_point(PreparedRunPtr run, const config::Node* stated, config::Diagnostics& diagnostics);

// The run with all GPUs at `share` of the clock that their hardware file states.
PreparedRun at_clock(const PreparedRun& run, double share);
// The same run with a clock that is held as its operating point.
PreparedRun held_at_clock(const PreparedRun& run, double share);

// What one GPU draws over limits when a program is repeated: the most of all GPUs, over 1 where it is too much.
struct Excess {
  double power = 0;  // mean power over what the controller holds
  double clock = 0;  // clock over what matrix units leave of it
};

// The highest share of the clock at which nothing is in excess, and the run there. `at`: simulates at a share. Excess
// is taken to grow with the clock; the answer is right to 0.05 %.
RunResult steady_state(double lowest, const std::function<RunResult(double)>& at,
                       const std::function<Excess(const RunResult&, double)>& excess);

// The run at its operating point. `simulated`: at a clock; `last` is the run that counts.
RunResult at_operating_point(const PreparedRun& run,
                             const std::function<RunResult(const PreparedRun&, bool last)>& simulated, bool observed);

}  // namespace moire::study
