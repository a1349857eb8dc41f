// A field of a line of CSV.
#pragma once

#include <string>

namespace moire::report {

// In quotes where it has to be. Lines are rows for those who read it, so a line break becomes a blank; a line that
// begins with '#' is a comment for them.
std::string csv_field(const std::string& text);

}  // namespace moire::report
