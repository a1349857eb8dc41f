// Pairs of accesses to one chunk of memory, one of them a write, that the order of their own GPU leaves open.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/msccl/layout.hpp"
#include "models/algorithms/msccl/schedule.hpp"

namespace moire::msccl {

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
std::vector<Conflict> find_conflicts(const Wiring& wiring, const Layout& layout,
                                     const std::vector<std::uint32_t>& order, std::uint32_t chunks_per_call);

}  // namespace moire::msccl
