// The scenario that a command works on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/study/scenario.hpp"

namespace moire::cli {

// Nothing, and the reasons in `diagnostics`, where the file is no scenario; says what it is if it is something else.
std::optional<study::Scenario> load_scenario_file(const std::string& file, const std::vector<std::string>& sets,
                                                  config::Diagnostics& diagnostics);

}  // namespace moire::cli
