// Values that follow others: a GPU with a higher clock has a higher peak rate, unless the same changes set it.
#pragma once

#include <string>
#include <vector>

#include "models/hardware/part/declaration.hpp"
#include "sim/config/node.hpp"

namespace moire::machine {

// The rules that the parts declare, in the order of the parts.
std::vector<part::Follow> follows();

// Returns the tree of a system in which values follow its overrides. Adds a line to `told` for each changed value:
// "compute.vector_fp32 72 TFLOP/s instead of 65.3 TFLOP/s, with compute.clock".
config::Node with_what_follows(const config::Node& system, std::vector<std::string>& told);

}  // namespace moire::machine
