// Paths of values in a library's profile, such as channels.ll.step_overhead, as validation and fit files write them.
#pragma once

#include <string>

#include "sim/config/description.hpp"

namespace moire::libraries {

struct Path {
  std::string section;  // "channels.ll"; "" for the top level
  std::string key;      // "step_overhead"
};
Path split_path(const std::string& path);

// The spec of a section; null if there is none.
const config::Description* section_spec(const std::string& section);

// The field that a path names; null if there is none.
const config::Field* field_at(const Path& path);

}  // namespace moire::libraries
