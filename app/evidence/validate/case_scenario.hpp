// The one run that a case is.
#pragma once

#include <vector>

#include "app/study/scenario.hpp"

namespace moire::validate {

// The scenario with its changes, checked: with errors in `diagnostics` it must not be run.
study::Scenario case_scenario(const std::string& name, const config::Node& tree, std::vector<config::Override> changes,
                              config::Diagnostics& diagnostics);

// A scenario was named, or written; a diagnostic where it is neither. `path` is where the group stands, "groups.0".
bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics);

}  // namespace moire::validate
