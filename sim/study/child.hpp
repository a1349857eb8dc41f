// Runs one piece of work in a process of its own: SimGrid allows one engine per process, memory is given back whole,
// and a crash is reported instead of shared.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace moire::study {

// A run failed for lack of something outside Moire: memory, disk space, a writable folder.
struct RunFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ChildReport {
  std::string text;  // what the work returned
  double wall_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
};

// `tick` is called in this process a few times a second while the child works. What the work throws is thrown here:
// RunFailure for itself and std::bad_alloc, InvariantError for all else and for a crash.
ChildReport run_in_child(const std::function<std::string()>& work, const std::function<void()>& tick);

}  // namespace moire::study
