// Reads MSCCL XML: <algo> holds <gpu>, which holds <tb>, which holds <step/>.
#pragma once

#include <optional>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::msccl {

// Returns the algorithm if it keeps all rules (rules.hpp), else nothing; all errors of the file are in `diagnostics`.
// Oddities become warnings.
std::optional<Algorithm> read_xml(const std::string& file, config::Diagnostics& diagnostics);
// The same for a text in memory; `name` is what messages call it.
std::optional<Algorithm> read_xml_text(const std::string& name, std::string text, config::Diagnostics& diagnostics);

// True for a file that is named *.xml or whose first character that is not a space is "<".
bool is_xml(const std::string& file);

}  // namespace moire::msccl
