// How long the instructions of a workgroup take, and how long they wait for the issue slots and the integer units of a
// CU that has other workgroups.
#pragma once

#include <cstdint>

#include "models/hardware/cu/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::cu {

// Returns the seconds per unit of work that the wavefronts of a workgroup need for their instructions on a CU of their
// own, without those that belong to loads; 0 if they are not counted. `clock`: share of the CU's clock.
double issue_time(const CuArraySpec& compute, const program::PhaseShape& shape, double clock);

// Returns the seconds for which a workgroup waits for slots and integer units in each round of its loop (a batch of
// loads and what belongs to it). A round takes `time` seconds on a CU of its own and has `share` of the instructions of
// a unit of work. `workgroups`: those of the CU that compute, all with such rounds. This is a closed queue by mean
// value analysis (Reiser and Lavenberg, J. ACM 27, 1980, with the servers of all schedulers as one): a workgroup finds
// the queues that the others have without it.
double wait_for_slots(const CuArraySpec& compute, const program::PhaseShape& shape, double share, double time,
                      double clock, std::uint32_t workgroups);

}  // namespace moire::cu
