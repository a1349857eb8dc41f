// Selects the CUs that the kernels of each queue may use, from the reservations and limits of the queues.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/cu/spec.hpp"

namespace moire::cu {

// What a queue requests. If both values are 0, the queue uses all CUs that are not reserved.
struct CuWish {
  std::int64_t partition = 0;  // CUs reserved for the queue
  std::int64_t limit = 0;      // largest number of CUs that the queue may use; other queues may use them as well
};

// Returns the CUs of each wish in ascending order; an empty list means all CUs. Reservations get CUs first, one wish
// after the other. Then wishes with a limit get their CUs from the rest, and overlap only if the rest is too small for
// all of them. A wish gets CUs from all groups in proportion to the sizes of the groups: on an MI300X, eight CUs are
// one of each XCD. If the GPU supports clusters of workgroups, CUs are taken in steps of compute.partition_step CUs of
// one group. The GPU must have enough CUs for the wishes.
std::vector<std::vector<std::uint32_t>> share_out(const CuArraySpec& spec, const std::vector<CuWish>& wishes);

}  // namespace moire::cu
