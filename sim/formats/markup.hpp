// Escapes text for XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace moire::formats {

// Replaces special characters by the entities that elements and attributes need.
std::string escaped(std::string_view text);

}  // namespace moire::formats
