#include "models/memory/cache.hpp"

#include <algorithm>

namespace moire::models::memory {

double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint) {
  double held = l2.capacity.value;
  if (memory_side) held = std::max(held, memory_side->capacity.value);  // inclusive of what L2 holds
  return std::min(1.0, held / footprint.value);
}

}  // namespace moire::models::memory
