// YAML text to a tree, positions kept. Includes are not followed here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::config {

// Nothing where the text is no YAML. Each node, and each copy an alias makes, takes one off `budget`. An empty text is
// a null node.
std::optional<Node> read_yaml(const std::string& text, const std::shared_ptr<const Source>& source, std::size_t& budget,
                              Diagnostics& diagnostics);

}  // namespace moire::config
