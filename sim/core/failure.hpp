// Failures of a run that are not bugs: missing memory, disk space, write permission or simulated time.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace moire::core {

struct RunFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A program or a machine is too large to simulate. A caller that knows the position of its cause in the input reports
// the error with this position.
struct TooLarge : RunFailure {
  TooLarge(const std::string& what_is, std::string what_would_be)
      : RunFailure(what_is + "; " + what_would_be), what_is_wrong(what_is), remedy(std::move(what_would_be)) {}
  std::string what_is_wrong;
  std::string remedy;
};

// Folding (the simulation of one block of nodes on behalf of all) turned out to be impossible, because messages of
// different blocks meet at a link or in a switch. The caller must repeat the run with all ranks.
struct NotAlike : RunFailure {
  using RunFailure::RunFailure;
};

// An event would happen at a time beyond the range of the clock.
struct EndOfTime : RunFailure {
  EndOfTime()
      : RunFailure(
            "the run would last longer than 106 days, the longest time that its picosecond clock can represent") {}
};

}  // namespace moire::core
