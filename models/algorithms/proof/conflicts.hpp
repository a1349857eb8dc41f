// Pairs of accesses to one chunk of memory, one of them a write, that the order of their own GPU leaves open.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/proof/layout.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::proof {

// One call's access. `call` counts the calls of its block over all steps.
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

// Conflicts that neither program order nor dependencies within the GPU order. Ordered against the last write and the
// reads since, an access is ordered against all before them.
std::vector<Conflict> find_conflicts(const Program& program, const Layout& layout,
                                     const std::vector<std::uint32_t>& order, std::uint32_t cells_per_call);

}  // namespace moire::proof
