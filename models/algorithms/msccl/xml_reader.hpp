// Reads MSCCL XML: <algo> of <gpu> of <tb> of <step/>.
#pragma once

#include <optional>
#include <string>

#include "models/algorithms/msccl/algorithm.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::msccl {

// The algorithm, where it keeps all rules (rules.hpp). Nothing, and all errors of the file in `diagnostics`, where it
// does not. What is odd is a warning there.
std::optional<Algorithm> read_xml(const std::string& file, config::Diagnostics& diagnostics);
// The same from a text; `name` is what errors call it.
std::optional<Algorithm> read_xml_text(const std::string& name, std::string text, config::Diagnostics& diagnostics);

// Whether a file holds XML, by its first character that is no space.
bool is_xml(const std::string& file);

}  // namespace moire::msccl
