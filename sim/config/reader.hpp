// Parses YAML text into a tree with positions. Does not follow includes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::config {

// Returns nothing if the text is not YAML. Each node, and each copy of a node that an alias makes, reduces `budget` by
// one; when the budget is used up, reading fails. An empty text is a null node.
std::optional<Node> read_yaml(const std::string& text, const std::shared_ptr<const Source>& source, std::size_t& budget,
                              Diagnostics& diagnostics);

}  // namespace moire::config
