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
  std::vector<std::string> notes;              // per entry: how many parts are affected, by how much, which part most
};

// `node`: the value of `perturb`. If it is invalid, reports the errors at their places and returns nothing. `topology`:
// of the system's fabric, or null.
std::optional<Drawn> draw(const config::Node& node, const machine::SystemSpec& system, const core::Topology* topology,
                          config::Diagnostics& diagnostics);

}  // namespace moire::perturb
