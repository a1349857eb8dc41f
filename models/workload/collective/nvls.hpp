// NVLS: all-reduce, reduce-scatter and all-gather in one node whose switch copies and adds.
#pragma once

#include <string>

#include "models/workload/builder/builder.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// `bytes` of a rank's input. The library has nvls, and the node's switch can.
void append_nvls(builder::Builder& build, const libraries::LibrarySpec& library, Kind kind, double bytes,
                 std::uint32_t channels, const std::string& name);

}  // namespace moire::collective
