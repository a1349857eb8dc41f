// Runs work in a child process: SimGrid allows one engine per process, all memory is returned at the end, and a crash
// becomes an error message.
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
  std::string text;  // the return value of the work
  double wall_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// Executes `work` in a child process. Calls `tick` in this process a few times per second meanwhile. If the work throws
// core::RunFailure or std::bad_alloc, throws core::RunFailure; if it throws anything else or crashes, throws
// InvariantError. Throws process::Interrupted if a signal asked this process to end. The child is ended then, and also
// if this process is killed.
ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick);

// The result of one work. If neither member is set, the work was not started, because another one failed.
struct ChildEnd {
  std::optional<ChildReport> report;
  std::exception_ptr failure;
};

enum class OnFailure { stop, go_on };  // whether to start further works after a failure

// The same for many works, at most `at_once` in parallel. They start in their order, and the results are in this order.
// Their log messages are logged in this order, too, after all have ended. In this process, `begin` is called with the
// number of a work that starts, and `ended` with each report as it arrives. If a signal asks this process to end, all
// works without a report fail with process::Interrupted.
std::vector<ChildEnd> try_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                      const std::function<void(std::size_t)>& begin, const std::function<void()>& tick,
                                      OnFailure on_failure,
                                      const std::function<void(std::size_t, const ChildReport&)>& ended = {});

// The same for works whose reports are useful only together: stops after a failure and throws the first one.
std::vector<ChildReport> run_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                         const std::function<void(std::size_t)>& begin,
                                         const std::function<void()>& tick);

}  // namespace moire::study
