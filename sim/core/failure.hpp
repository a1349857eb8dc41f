// A run failed for lack of something outside Moire: memory, disk space, a writable folder, time.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace moire::core {

struct RunFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a program or a machine asks for is more than can be simulated. Whoever knows where it was asked for tells it
// there.
struct TooLarge : RunFailure {
  TooLarge(const std::string& what_is, std::string what_would_be)
      : RunFailure(what_is + "; " + what_would_be), what_is_wrong(what_is), remedy(std::move(what_would_be)) {}
  std::string what_is_wrong;
  std::string remedy;
};

// Some cannot be simulated for all, since all meet somewhere: all of them have to be.
struct NotAlike : RunFailure {
  using RunFailure::RunFailure;
};

// A date that the clock cannot tell.
struct EndOfTime : RunFailure {
  EndOfTime() : RunFailure("the run would last longer than 106 days, the most that its clock of picoseconds tells") {}
};

}  // namespace moire::core
