// Runs one piece of work in a process of its own: SimGrid allows one engine per process, memory is given back whole,
// and a crash is reported instead of shared.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/core/failure.hpp"

namespace moire::study {

struct ChildReport {
  std::string text;  // what the work returned
  double wall_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// `tick` is called in this process a few times a second while the child works. What the work throws is thrown here:
// core::RunFailure for itself and std::bad_alloc, InvariantError for all else and for a crash.
ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick);

// The same for many, `at_once` of them side by side. Reports in the order of the works; of several that failed the
// first one is thrown, when all others have ended. What the works log is logged then, in the same order. `begin` is
// called in this process with the number of a work that starts, `ended` with its report; where that is false, or a work
// fails, no further one starts. Works start in their order, so all before such a one have a report.
std::vector<ChildReport> run_in_children(
    const std::vector<std::function<std::string()>>& works, std::size_t at_once,
    const std::function<void(std::size_t)>& begin, const std::function<void()>& tick,
    const std::function<bool(std::size_t, const ChildReport&)>& ended = [](std::size_t, const ChildReport&) {
      return true;
    });

}  // namespace moire::study
