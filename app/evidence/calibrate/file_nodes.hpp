// What the files that calibration changes have in common: values with sources, and comments that stay.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/config/node.hpp"

namespace moire::calibrate {

// Lines above a key of the file, by its path.
using Comments = std::map<std::string, std::vector<std::string>, std::less<>>;

config::Node scalar(std::string text);
config::Node sourced(std::string value, const std::string& source);  // {value: ..., source: ...}

std::set<std::string> sources_of(const config::Node& root);  // those that a value names
Comments comments_of(const config::Node& root, const std::string& text);
// Of a file that was loaded just now.
Comments comments_in(const std::filesystem::path& file, const config::Node& root);

// The file's text. Sources that nothing names any more are left out.
std::string in_layout(const config::Node& root, const Comments& comments);

}  // namespace moire::calibrate
