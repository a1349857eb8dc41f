// Escapes text for XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace moire::formats {

// Replaces & < > and " by their entities, so that the text may be used in elements and attributes.
std::string escaped(std::string_view text);

}  // namespace moire::formats
