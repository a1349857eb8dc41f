// Loads the scenario that a command works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/study/scenario.hpp"

namespace moire::cli {

// Returns nothing and reports why if the file is not a scenario; names the kind of file if it is known.
std::optional<study::Scenario> load_scenario_file(const std::string& file, const std::vector<std::string>& sets,
                                                  config::Diagnostics& diagnostics);

}  // namespace moire::cli
