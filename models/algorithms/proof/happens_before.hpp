// Which conflicts the whole machine orders: by program order, dependencies, data and credits of connections.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/conflicts.hpp"

namespace moire::proof {

// For each conflict, whether its first access is over before the second can begin. `order` is what schedule() made for
// this cut and these slots. Each conflict is first searched for in so many calls, then all that are left are answered
// by walking through all calls.
std::vector<bool> are_ordered(const Program& program, const std::vector<Conflict>& conflicts,
                              const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call,
                              std::uint32_t slots, std::optional<std::uint32_t> search_calls = std::nullopt);

}  // namespace moire::proof
