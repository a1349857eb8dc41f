// Values that follow others: a GPU with a higher clock has a higher peak, unless the same changes say otherwise.
#pragma once

#include <string>
#include <vector>

#include "models/hardware/part/declaration.hpp"
#include "sim/config/node.hpp"

namespace moire::machine {

// What the parts declare, in their order.
std::vector<part::Follow> follows();

// The tree of a system with what follows from its overrides. Each value that follows is told in `told`:
// "compute.vector_fp32 72 TFLOP/s instead of 65.3 TFLOP/s, with compute.clock".
config::Node with_what_follows(const config::Node& system, std::vector<std::string>& told);

}  // namespace moire::machine
