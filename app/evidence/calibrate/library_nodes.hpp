// Finds values in the tree of a library's profile by path, and inserts fitted values.
#pragma once

#include <string>

#include "models/workload/libraries/path.hpp"
#include "sim/config/node.hpp"

namespace moire::calibrate {

// Returns the map of a section, or null if the file lacks the section.
config::Node* library_section(config::Node& root, const std::string& section);

// Returns the value as written in the file, or "" if the file lacks the value.
std::string library_text(config::Node& root, const libraries::Path& path);

// Returns the entry of a value. If the file lacks the entry, inserts it in the order of the spec. The section must
// exist.
config::Node& library_entry(config::Node& root, const libraries::Path& path);

void add_source(config::Node& root, const std::string& key, const std::string& text);

}  // namespace moire::calibrate
