// Runs works, which are functions that return a text, in child processes. There are three reasons: SimGrid allows one
// engine per process, a child returns all its memory when it ends, and a crash of a child becomes an error message of
// the parent.
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

// Executes `work` in a child process and returns its report. Meanwhile calls `tick` in this process a few times per
// second. If the work throws core::RunFailure or std::bad_alloc, throws core::RunFailure; if it throws anything else or
// crashes, throws InvariantError. If a signal asks this process to end, ends the child and throws process::Interrupted.
// The child also ends if this process is killed.
ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick);

// The result of one work. If neither member is set, the work was not started, because another work failed.
struct ChildEnd {
  std::optional<ChildReport> report;
  std::exception_ptr failure;
};

enum class OnFailure { stop, go_on };  // whether to start further works after a failure

// Executes many works like run_in_child(), at most `at_once` in parallel, but returns their failures instead of
// throwing them. The works start in the order of `works`, and the results have this order. The log messages of the
// children are logged in this order, too, after all children have ended. In this process, calls `begin` with the number
// of each work that starts, and `ended` with the number and the report of each work that succeeds. If a signal asks
// this process to end, all works without a report fail with process::Interrupted.
std::vector<ChildEnd> try_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                      const std::function<void(std::size_t)>& begin, const std::function<void()>& tick,
                                      OnFailure on_failure,
                                      const std::function<void(std::size_t, const ChildReport&)>& ended = {});

// The same for works whose reports are useful only together: after a failure no other work starts, and the failure of
// the first work that failed is thrown.
std::vector<ChildReport> run_in_children(const std::vector<std::function<std::string()>>& works, std::size_t at_once,
                                         const std::function<void(std::size_t)>& begin,
                                         const std::function<void()>& tick);

}  // namespace moire::study
