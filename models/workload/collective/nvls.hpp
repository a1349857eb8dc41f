// NVLS (NVLink SHARP): all-reduce, reduce-scatter and all-gather in one node whose switch multicasts and sums.
#pragma once

#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// `bytes` is a rank's input. The library's profile must have nvls, and the node's switch must support it.
void append_nvls(builder::Builder& build, const libraries::LibrarySpec& library, Kind kind, double bytes,
                 std::uint32_t channels, const std::string& name);

}  // namespace moire::collective
