// Paths of values in the profile of a collective library, such as channels.ll.step_overhead. Files of validations and
// fits contain such paths.
#pragma once

#include <string>

#include "sim/config/description.hpp"

namespace moire::libraries {

struct Path {
  std::string section;  // "channels.ll"; "" for the top level
  std::string key;      // "step_overhead"
};
Path split_path(const std::string& path);

// Returns the description of the keys of a section such as channels.ll; null if there is no such section.
const config::Description* section_spec(const std::string& section);

// Returns the field that a path names; null if there is no such field.
const config::Field* field_at(const Path& path);

}  // namespace moire::libraries
