// The range of a run's time over GPUs of one type: the run on the fastest and on the slowest of them. More of a
// resource never makes a run slower (docs/explanation/laws.md), so all other GPUs within the spread lie in between.
#pragma once

#include "app/study/child_run.hpp"
#include "app/study/prepare.hpp"

namespace moire::study {

// Returns a copy of the run whose `fastest` and `slowest` are set: the same program on the fastest and the slowest
// GPUs. The program does not change, because a library does not know how fast a GPU is. If the GPU's file has no
// spread, reports an error and returns null.
PreparedRunPtr with_spread(const PreparedRun& run, const config::Place& asked, config::Diagnostics& diagnostics);

// Simulates both ends and adds fastest_us and slowest_us to `result`.
void simulate_spread(const PreparedRun& prepared, RunResult& result);

}  // namespace moire::study
