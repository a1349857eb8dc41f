// The profile's values by their paths, as files that are about profiles name them: channels.ll.step_overhead.
#pragma once

#include <string>

#include "sim/config/description.hpp"

namespace moire::libraries {

struct Path {
  std::string section;  // "channels.ll"; "" at the top
  std::string key;      // "step_overhead"
};
Path split_path(const std::string& path);

// The spec of a section; null where there is none.
const config::Description* section_spec(const std::string& section);

// The field that a path names; null where there is none.
const config::Field* field_at(const Path& path);

}  // namespace moire::libraries
