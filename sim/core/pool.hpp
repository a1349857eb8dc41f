// Entries of a vector that are reused: indices stay valid, and memory does not grow while entries are free.
#pragma once

#include <cstdint>
#include <vector>

namespace moire::core {

// Index of a free entry of `pool`, whose content is what its last user left, or of a new one.
template <class Entry>
std::uint32_t take(std::vector<Entry>& pool, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  return index;
}

}  // namespace moire::core
