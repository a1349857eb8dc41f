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

// Returns the CUs of each wish in ascending order; an empty list means all CUs. Wishes get CUs one after the other,
// from all groups in proportion to the sizes of the groups: on an MI300X, eight CUs are one of each XCD. If the GPU
// supports clusters of workgroups, whole steps (compute.partition_step) of one group are taken. Reservations get CUs
// first. Limits share the remaining CUs, and overlap only if these are too few. The GPU must have enough CUs for the
// wishes.
std::vector<std::vector<std::uint32_t>> share_out(const CuArraySpec& spec, const std::vector<CuWish>& wishes);

}  // namespace moire::cu
