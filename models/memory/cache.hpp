// How much of a stated access pattern the caches of a GPU serve.
#pragma once

#include <optional>

#include "models/memory/spec.hpp"

namespace moire::models::memory {

// Hit ratio of uniformly random accesses over `footprint` bytes in steady state: the caches hold the share that fits.
double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint);

}  // namespace moire::models::memory
