// Decides which conflicts (pairs of accesses to one cell, conflicts.hpp) are ordered by program order, dependencies,
// and the data and credits of connections, over all GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/conflicts.hpp"

namespace moire::proof {

// Returns for each conflict whether its first access is over before the second can begin. `order` is the result of
// schedule() for the same cells_per_call and slots. Most conflicts are decided by a search through at most
// `search_calls` calls for each conflict (by default, a limit that depends on the number of conflicts). The others are
// decided by walks through all calls, each for many conflicts at a time.
std::vector<bool> are_ordered(const Program& program, const std::vector<Conflict>& conflicts,
                              const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call,
                              std::uint32_t slots, std::optional<std::uint32_t> search_calls = std::nullopt);

}  // namespace moire::proof
