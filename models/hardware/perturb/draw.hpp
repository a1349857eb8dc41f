// Turns `perturb` into deviations of a system's parts: who is late or slow, and by how much.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/perturb/spec.hpp"
#include "sim/config/config.hpp"
#include "sim/core/network.hpp"

namespace moire::perturb {

struct Drawn {
  std::shared_ptr<const part::Uneven> uneven;  // null: everything is as specified
  std::vector<std::string> notes;              // a line per entry: how many parts, by how much, which one most
};

// Returns nothing and reports the reasons at their places in `node` if it is invalid. `topology`: of the system's
// fabric, or null.
std::optional<Drawn> draw(const config::Node& node, const machine::SystemSpec& system, const core::Topology* topology,
                          config::Diagnostics& diagnostics);

}  // namespace moire::perturb
