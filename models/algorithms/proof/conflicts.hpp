// Finds conflicts: pairs of accesses to one cell, at least one of them a write, that are not ordered within their GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::proof {

// An access by one call. `call` counts the calls of the block over all its steps.
struct Touch {
  std::uint32_t block = nobody;
  std::uint32_t call = 0;
  std::int32_t step = 0;
  bool writes = false;
};
struct Conflict {
  Touch first;
  Touch second;
  std::uint32_t cell = 0;
};

// Returns the conflicts that neither program order nor dependencies within the GPU order. Each access is compared only
// with the last write to its cell and the reads since then. If these are ordered, so are all earlier accesses.
std::vector<Conflict> find_conflicts(const Program& program, const Layout& layout,
                                     const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call);

}  // namespace moire::proof
