// From what a workgroup asks for (PhaseShape) and how full its CU is to a class of the sharing law.
//
// rate <= window / (L(load) + delay)  Little's law: window = what the workgroup keeps in flight, at most its share of
// the
//                                     CU's limit
// rate <= share of the CU's load/store rate, of its arithmetic rate, of its peer-store window / link latency
// weight = bytes in flight            docs/explanation/sharing.md
// A copy is paced by its loads: measured, 8 KiB in flight copy 8 KiB / 396 ns = 20.7 GB/s
// (docs/explanation/sharing.md).
#pragma once

#include "models/hardware/cu/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::cu {

// What the workgroups that are active on one CU ask for together.
struct CuLoad {
  double in_flight = 0;         // bytes, sum over workgroups that move data
  std::uint32_t computing = 0;  // workgroups that do arithmetic
  double port_share = 1;        // of a byte in flight, what its port lets through to a saturated memory
  double group_in_flight = 0;   // bytes, all CUs of the group; 0: the group limits nothing
  double clock = 1;             // over the one at which the rates of the CU hold
  double computing_share = 0;   // of the CU's matrix rate, for this workgroup; 0: as large as the others' shares
  bool operator==(const CuLoad&) const = default;
};

// Clock over its highest while CUs draw `power` together, in CUs of dense matrix arithmetic: dynamic power goes with
// the cube of the clock (voltage follows frequency), and what the power limit allows is known from all CUs at once.
double clock_share(const CuArraySpec& compute, double power);

// Of workgroups on CUs with this load; what they take of memory and links, the other parts of the site tell. `queue` of
// the program, where queues have capacities of their own.
core::ClassSpec phase_class(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                            part::Rank rank, part::Rank peer, const CuLoad& load, std::uint32_t queue = 0);

}  // namespace moire::cu
