// Which CUs a queue's kernels may use: reservations and limits of queues, spread over the groups.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/cu/spec.hpp"

namespace moire::cu {

// What a queue requests; with neither value set it uses all CUs that are not reserved.
struct CuWish {
  std::int64_t partition = 0;  // CUs reserved for the queue
  std::int64_t limit = 0;      // most CUs it may use, shared with other queues
};

// The CUs of each wish in ascending order; empty if it may use all. Wishes take CUs one after the other, from the
// groups in proportion to their sizes: one of each XCD for every eight on an MI300X. If workgroups come in clusters,
// whole steps (compute.partition_step) of one group are taken. Reservations come first; limits share the remaining CUs
// and overlap only if they must. The wishes must fit.
std::vector<std::vector<std::uint32_t>> share_out(const CuArraySpec& spec, const std::vector<CuWish>& wishes);

}  // namespace moire::cu
