// A simulation in a process of its own, its result sent back whole.
#pragma once

#include <functional>
#include <vector>

#include "app/study/simulate.hpp"

namespace moire::study {

RunResult simulate_in_child(const std::function<RunResult()>& simulated, const std::function<void()>& tick);

// The same for many, `at_once` of them side by side; `begin` gets the number of one that starts.
std::vector<RunResult> simulate_in_children(const std::vector<std::function<RunResult()>>& simulated,
                                            std::size_t at_once, const std::function<void(std::size_t)>& begin,
                                            const std::function<void()>& tick);

// What further simulations of one run cost.
void add(const RunStats& stats, RunStats& to);

}  // namespace moire::study
