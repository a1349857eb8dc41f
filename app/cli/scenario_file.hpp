// Loads the scenario that a command works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/study/scenario.hpp"

namespace moire::cli {

// Loads a scenario and applies `sets`, the texts of --set. If the file is not a scenario, returns nothing and reports
// an error; the error names the kind of the file if it is recognized.
std::optional<study::Scenario> load_scenario_file(const std::string& file, const std::vector<std::string>& sets,
                                                  config::Diagnostics& diagnostics);

}  // namespace moire::cli
