// Progress of a running simulation. A Pulse may lie in shared memory, where another process reads it.
#pragma once

#include <atomic>
#include <cstdint>

namespace moire::core {

struct Pulse {
  std::atomic<std::int64_t> now_ps{0};  // simulated time
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> steps{0};  // phases that workgroups have begun; program::work_of() estimates the total
};

}  // namespace moire::core
