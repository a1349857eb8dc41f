// Scales values that follow other values (part::Follow). For example, if a change sets a higher clock of a GPU, its
// peak rates rise as well, unless the same change sets them.
#pragma once

#include <string>
#include <vector>

#include "models/hardware/part/declaration.hpp"
#include "sim/config/node.hpp"

namespace moire::machine {

// Returns the rules that the parts declare, in the order of the parts.
std::vector<part::Follow> follows();

// Returns a copy of the YAML tree of a system, in which values that follow overridden values (by --set, an axis of a
// sweep, a variant) are scaled. Adds a line to `told` for each scaled value: "compute.vector_fp32 72 TFLOP/s instead of
// 65.3 TFLOP/s, scaled with compute.clock".
config::Node with_what_follows(const config::Node& system, std::vector<std::string>& told);

}  // namespace moire::machine
