// Draws from the key `perturb` of a scenario which ranks are late, and which GPUs, NICs and links are slow, and by how
// much.
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
  std::vector<std::string> notes;              // per entry: how many ranks, NICs or links it affects, and by how much
};

// Draws as the value `node` of the key `perturb` states. If the value is invalid, reports the errors with their
// positions and returns nothing. `topology`: that of the system's fabric, or null if there is none.
std::optional<Drawn> draw(const config::Node& node, const machine::SystemSpec& system, const core::Topology* topology,
                          config::Diagnostics& diagnostics);

}  // namespace moire::perturb
