// The layout of configs/hardware: sections as blocks, one line a value where it fits, long texts folded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/config/node.hpp"

namespace moire::calibrate {

// Comment lines that stand above the key of that path ("hbm.bandwidth").
using CommentsOf = std::function<std::vector<std::string>(const std::string& path)>;

std::string in_layout(const config::Node& root, const CommentsOf& comments);

}  // namespace moire::calibrate
