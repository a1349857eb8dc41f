// Text inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace moire::formats {

// With the entities that elements and attributes need.
std::string escaped(std::string_view text);

}  // namespace moire::formats
