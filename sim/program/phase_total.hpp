// The total time that a kernel's workgroups spent in one phase, in a replay or on recorded hardware.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/quantity.hpp"

namespace moire::program {

struct PhaseTotal {
  std::string name;  // name of the shape, or "wait", "delay", "put" or "fence"
  std::uint64_t count = 0;
  TimeSum total;
  double mean_us() const { return count == 0 ? 0 : total.us() / static_cast<double>(count); }
};

}  // namespace moire::program
