// Finds values in the tree of a library's profile by path, and inserts fitted ones.
#pragma once

#include <string>

#include "models/workload/libraries/path.hpp"
#include "sim/config/node.hpp"

namespace moire::calibrate {

// The map of a section; null if the file has none.
config::Node* library_section(config::Node& root, const std::string& section);

// As written in the file; "" if it is absent.
std::string library_text(config::Node& root, const libraries::Path& path);

// The entry of a value. If the file lacks it, it is inserted in the order of the spec. The section must exist.
config::Node& library_entry(config::Node& root, const libraries::Path& path);

void add_source(config::Node& root, const std::string& key, const std::string& text);

}  // namespace moire::calibrate
