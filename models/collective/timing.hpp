// How long a collective takes alone on a machine: what microbenchmarks of a library measure and its profile is fitted
// to.
#pragma once

#include "models/collective/library_spec.hpp"
#include "models/machine/spec.hpp"

namespace moire::models::collective {

// From the start of the first workgroup to the end of the last one over all ranks; no launch in it. The kernel has at
// most `max_channels` workgroups; 0 leaves it to the library.
Time all_to_all_time(const machine::SystemSpec& system, const LibrarySpec& library, Bytes bytes_per_peer,
                     std::int64_t max_channels = 0);

}  // namespace moire::models::collective
