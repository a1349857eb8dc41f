// Runs one piece of work in a process of its own: SimGrid allows one engine per process, memory is given back whole,
// and a crash is reported instead of shared.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
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
// core::RunFailure for itself and std::bad_alloc, InvariantError for all else and for a crash, process::Interrupted
// where a signal asked this process to end; the child is then ended, too, as it is when this process is killed.
ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick);

// What became of a work. Neither: it was not begun, because another one failed.
struct ChildEnd {
  std::optional<ChildReport> report;
  std::exception_ptr failure;
};

enum class OnFailure { stop, go_on };  // whether further works begin when one has failed

// The same for many, `at_once` of them side by side; ends in the order of the works. What the works log is logged when
// all have ended, in the same order. `begin` is called in this process with the number of a work that starts. Works
// start in their order. `ended` is called in this process with each report, as it comes. A signal that asks this
// process to end is the failure of all that have no report.
std::vector<ChildEnd> try_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                      const std::function<void(std::size_t)>& begin, const std::function<void()>& tick,
                                      OnFailure on_failure,
                                      const std::function<void(std::size_t, const ChildReport&)>& ended = {});

// Reports of works that are of use only together: of several that failed the first one is thrown.
std::vector<ChildReport> run_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                         const std::function<void(std::size_t)>& begin,
                                         const std::function<void()>& tick);

}  // namespace moire::study
