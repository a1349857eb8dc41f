// Progress of a running simulation. May be placed in memory that another process watches.
#pragma once

#include <atomic>
#include <cstdint>

namespace moire::core {

struct Pulse {
  std::atomic<std::int64_t> now_ps{0};  // simulated time
  std::atomic<std::uint64_t> events{0};
  std::atomic<std::uint64_t> steps{0};  // executed by workgroups (compare program::work_of)
};

}  // namespace moire::core
