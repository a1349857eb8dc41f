// Finds conflicts: pairs of accesses to one cell, at least one of them a write, that nothing within their GPU puts in
// order.
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

// Returns the pairs of accesses that neither program order nor dependencies within the GPU put in order. Each access is
// compared only with the last write to its cell and with the reads of the cell since that write. An access that comes
// after all of these also comes after the accesses before them.
std::vector<Conflict> find_conflicts(const Program& program, const Layout& layout,
                                     const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call);

}  // namespace moire::proof
