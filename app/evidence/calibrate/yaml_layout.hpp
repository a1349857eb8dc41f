// Writes YAML in the layout of configs/hardware: sections as blocks, one line per value if it fits, long texts folded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/config/node.hpp"

namespace moire::calibrate {

// Returns the comment lines above the key with this path ("hbm.bandwidth").
using CommentsOf = std::function<std::vector<std::string>(const std::string& path)>;

std::string in_layout(const config::Node& root, const CommentsOf& comments);

}  // namespace moire::calibrate
