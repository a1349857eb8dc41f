// Maps a workgroup's demands (PhaseShape) and the load of its CU to a class of the sharing law:
//
//   rate <= window / (L(load) + delay)   Little's law. window = bytes that the workgroup keeps in flight, at most its
//                                        share of the CU's limit. L = latency, which grows with the load of the memory.
//                                        delay = the part of a round trip's time that does not grow with load.
//   rate <= the workgroup's share of the CU's load/store rate, its share of the CU's arithmetic rate, and peer-store
//                                        window / link latency
//   weight = bytes in flight
//
// The bytes in flight of a copy are those of its loads. Measured on an H200: a copy with 8 KiB in flight runs at 8 KiB
// / 396 ns = 20.7 GB/s (docs/explanation/sharing.md).
#pragma once

#include "models/hardware/cu/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::cu {

// Combined demand of the workgroups that are active on one CU.
struct CuLoad {
  double in_flight = 0;         // bytes, sum over workgroups that move data
  std::uint32_t computing = 0;  // workgroups that do arithmetic
  double port_share = 1;        // share of the bytes in flight that the CU's port passes on to a saturated memory
  double group_in_flight = 0;   // bytes, over all CUs of the group; 0: no limit per group
  double clock = 1;             // that the power limit allows, relative to the clock at which the CU's rates hold
  double beside_matrix = 1;     // factor on the clock of everything but matrix arithmetic
  double computing_share = 0;   // share of the CU's matrix rate that this workgroup gets; 0: an equal share
  std::uint32_t in_step = 0;    // workgroups of the GPU that load in step (PhaseShape::held_each)
  bool operator==(const CuLoad&) const = default;
};

// Returns the clock that the power limit allows, as a fraction of the highest clock, at most 1:
//   matrix_clock / clock x (CUs / power)^(1/3)
// `power`: sum over all CUs, where a CU with dense matrix arithmetic on random data draws 1. So matrix_clock is the
// clock that the limit allows while all CUs do such arithmetic. Dynamic power grows with the cube of the clock, because
// the voltage follows the frequency.
double clock_share(const CuArraySpec& compute, double power);

// Returns the time from a request of the phase to the arrival of the slowest of the loads that a wavefront waits for,
// on an idle machine, in seconds; 0 if the phase loads nothing from its own GPU's memory.
double first_arrival(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                     std::uint32_t queue = 0);

// The latencies of loads differ, and a workgroup ends with the slowest of its wavefronts, which do not wait for each
// other before. Returns how much later than an average wavefront the last one of so many workgroups ends, on an idle
// machine. Holds for a phase that loads random rows, and is 0 for others: contiguous loads fetch neighbouring lines,
// and the loops of collectives and GEMMs have measured times that include the wait. Also 0 if hits take longer than
// misses, because with more wavefronts fewer batches only hit.
Time straggling(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                std::uint32_t queue, double workgroups);

// Returns how long the bytes of a phase keep their buffer, in seconds, if `in_step` workgroups of the GPU load in step
// (PhaseShape::held_each).
double held_for(const program::PhaseShape& shape, std::uint32_t in_step);

// Returns the class of the workgroups with this shape on CUs with this load. The parts of the site add the demands on
// memory and links. If queues have their own copies of a resource (counterfactual run), `queue` selects the copy.
core::ClassSpec phase_class(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                            part::Rank rank, part::Rank peer, const CuLoad& load, std::uint32_t queue = 0);

}  // namespace moire::cu
