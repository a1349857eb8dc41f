// Decides which conflicts the whole machine orders: by program order, dependencies, and the data and credits of
// connections.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/conflicts.hpp"

namespace moire::proof {

// For each conflict, whether its first access is over before the second can begin. `order` is the result of schedule()
// for this cut and these slots. Each conflict is first searched for within `search_calls` calls; those not found are
// then decided together by walking through all calls.
std::vector<bool> are_ordered(const Program& program, const std::vector<Conflict>& conflicts,
                              const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call,
                              std::uint32_t slots, std::optional<std::uint32_t> search_calls = std::nullopt);

}  // namespace moire::proof
