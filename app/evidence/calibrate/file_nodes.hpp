// Helpers for the YAML files that calibration writes. Values have sources, and the comments of the original file are
// kept.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/config/node.hpp"

namespace moire::calibrate {

// Maps the path of each key of a file to the comment lines above the key.
using Comments = std::map<std::string, std::vector<std::string>, std::less<>>;

config::Node scalar(std::string text);
config::Node sourced(std::string value, const std::string& source);  // returns {value: ..., source: ...}

std::set<std::string> sources_of(const config::Node& root);  // returns the keys of the sources that some value names
Comments comments_of(const config::Node& root, const std::string& text);
// Returns the comments of a file from which `root` was loaded.
Comments comments_in(const std::filesystem::path& file, const config::Node& root);

// Returns the text of the file, without sources that no value names.
std::string in_layout(const config::Node& root, const Comments& comments);

}  // namespace moire::calibrate
