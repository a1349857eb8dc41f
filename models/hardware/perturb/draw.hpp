// From `perturb` to the parts of a system: who is late or slow, and by how much.
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
  std::shared_ptr<const part::Uneven> uneven;  // null: everything is as the files say
  std::vector<std::string> notes;              // a line for each entry: how many, by how much, who most
};

// Nothing, with the reasons at their places in `node`, where it is wrong. `topology`: of the system's fabric; null
// without one.
std::optional<Drawn> draw(const config::Node& node, const machine::SystemSpec& system, const core::Topology* topology,
                          config::Diagnostics& diagnostics);

}  // namespace moire::perturb
