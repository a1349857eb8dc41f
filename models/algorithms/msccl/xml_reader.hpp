// Reads MSCCL XML: <algo> holds <gpu>, which holds <tb>, which holds <step/>.
#pragma once

#include <optional>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::msccl {

// Returns the algorithm if it keeps all rules (rules.hpp), else nothing. Reports all errors of the file to
// `diagnostics`, and as warnings what a runtime accepts although it is probably a mistake.
std::optional<Algorithm> read_xml(const std::string& file, config::Diagnostics& diagnostics);
// Reads a text in memory in the same way. Messages use `name` as the name of the file.
std::optional<Algorithm> read_xml_text(const std::string& name, std::string text, config::Diagnostics& diagnostics);

// True for a file that is named *.xml or whose first character that is not a space is "<".
bool is_xml(const std::string& file);

}  // namespace moire::msccl
