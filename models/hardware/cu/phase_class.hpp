// Maps a workgroup's demands (PhaseShape) and the load of its CU to a class of the sharing law:
//
//   rate <= window / (L(load) + delay)   Little's law; window = what the workgroup keeps in flight, at most its share
//                                        of the CU's limit
//   rate <= its share of the CU's load/store rate and of its arithmetic rate, and peer-store window / link latency
//   weight = bytes in flight
//
// The rate of a copy is set by its loads: measured, 8 KiB in flight copy 8 KiB / 396 ns = 20.7 GB/s
// (docs/explanation/sharing.md).
#pragma once

#include "models/hardware/cu/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::cu {

// Combined demand of the workgroups that are active on one CU.
struct CuLoad {
  double in_flight = 0;         // bytes, sum over workgroups that move data
  std::uint32_t computing = 0;  // workgroups that do arithmetic
  double port_share = 1;        // share of its bytes in flight that the CU's port passes on to a saturated memory
  double group_in_flight = 0;   // bytes, over all CUs of the group; 0: no limit per group
  double clock = 1;             // relative to the clock at which the CU's rates hold
  double computing_share = 0;   // share of the CU's matrix rate that this workgroup gets; 0: an equal share
  bool operator==(const CuLoad&) const = default;
};

// Clock relative to the highest one while CUs draw `power` in total (unit: one CU of dense matrix arithmetic). Dynamic
// power grows with the cube of the clock, because voltage follows frequency; matrix_clock calibrates the power limit
// with all CUs busy.
double clock_share(const CuArraySpec& compute, double power);

// The class of workgroups on CUs with this load. The other parts of the site add their demands on memory and links.
// `queue` selects the copy of a resource where queues have their own.
core::ClassSpec phase_class(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                            part::Rank rank, part::Rank peer, const CuLoad& load, std::uint32_t queue = 0);

}  // namespace moire::cu
