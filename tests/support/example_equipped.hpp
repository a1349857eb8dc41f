// Makes the example machine with default software: the generic GEMM library and no collective library.
#pragma once

#include "models/workload/libraries/software.hpp"
#include "tests/support/example_system.hpp"

namespace moire::libraries {

inline EquippedSystem example_equipped(std::int64_t gpus, std::int64_t nodes = 1,
                                       link::Wiring wiring = link::Wiring::nvswitch) {
  return {machine::example_system(gpus, nodes, wiring)};
}

}  // namespace moire::libraries
