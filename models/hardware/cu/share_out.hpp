// Which CUs a kernel may be placed on: reservations and limits of queues, dealt out over the groups.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/cu/spec.hpp"

namespace moire::cu {

// What a queue asks for; neither: whatever nobody has reserved.
struct CuWish {
  std::int64_t partition = 0;  // CUs reserved for the queue
  std::int64_t limit = 0;      // CUs it may use at most, beside others
};

// CUs of each wish, in ascending order; empty where it may use all. Every wish takes its CUs where the one before left
// off, from the groups in proportion to their size: one of each XCD for every eight of an MI300X; where workgroups come
// in clusters, in whole steps (compute.partition_step) of one group. Reservations come first; limits share what is
// left, and meet each other only where they have to. The wishes must fit.
std::vector<std::vector<std::uint32_t>> share_out(const CuArraySpec& spec, const std::vector<CuWish>& wishes);

}  // namespace moire::cu
