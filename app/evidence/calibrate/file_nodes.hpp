// Parts of calibrated YAML files: values with sources, and comments that are kept.
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

std::set<std::string> sources_of(const config::Node& root);  // keys of the sources that some value names
Comments comments_of(const config::Node& root, const std::string& text);
// Reads the comments of a file that has just been loaded.
Comments comments_in(const std::filesystem::path& file, const config::Node& root);

// Returns the text of the file, without sources that no value names.
std::string in_layout(const config::Node& root, const Comments& comments);

}  // namespace moire::calibrate
