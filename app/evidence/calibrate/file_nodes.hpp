// What calibrated files share: values with sources, and comments that are kept.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/config/node.hpp"

namespace moire::calibrate {

// The comment lines above each key of the file, by path.
using Comments = std::map<std::string, std::vector<std::string>, std::less<>>;

config::Node scalar(std::string text);
config::Node sourced(std::string value, const std::string& source);  // {value: ..., source: ...}

std::set<std::string> sources_of(const config::Node& root);  // those that a value names
Comments comments_of(const config::Node& root, const std::string& text);
// For a file that has just been loaded.
Comments comments_in(const std::filesystem::path& file, const config::Node& root);

// The text of the file, without sources that no value names.
std::string in_layout(const config::Node& root, const Comments& comments);

}  // namespace moire::calibrate
