// Finds the steps of an MSCCL algorithm that load data which their rank has used before.
#pragma once

#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/layout.hpp"

namespace moire::collective {

struct Reuse {
  // By thread block and step: true if the rank has loaded or stored all chunks that the step loads from the rank's own
  // memory before the step loads them.
  std::vector<std::vector<bool>> again;
  std::int64_t chunks = 0;  // number of chunks that the rank loads or stores
};
// Returns the reuse of a rank in one iteration over the buffer, if each chunk of a step takes the same time and a step
// only waits for the thread blocks of its rank. If two thread blocks use a chunk at the same time, the one that moves
// fewer chunks is first, because it is ahead from the second iteration on.
Reuse reuse_of(const msccl::Algorithm& algorithm, std::size_t rank, const proof::Layout& layout);

}  // namespace moire::collective
