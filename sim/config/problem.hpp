// What models say of a spec that does not fit: one text, "what is wrong; what would be right".
#pragma once

#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::config {

// Reports it at its place; without "; " it has no remedy.
void report_problem(const std::string& problem, const Place& place, Diagnostics& diagnostics);

}  // namespace moire::config
