// The tree of a library's profile: finding a value by its path, and writing what was fitted among its neighbours.
#pragma once

#include <string>

#include "models/workload/libraries/path.hpp"
#include "sim/config/node.hpp"

namespace moire::calibrate {

// The map that a section names; null where the file has none.
config::Node* library_section(config::Node& root, const std::string& section);

// As written in the file; "" where it is not.
std::string library_text(config::Node& root, const libraries::Path& path);

// The entry of a value, made where the file leaves it out: among its neighbours as the spec orders them. The section
// has to be there.
config::Node& library_entry(config::Node& root, const libraries::Path& path);

void add_source(config::Node& root, const std::string& key, const std::string& text);

}  // namespace moire::calibrate
