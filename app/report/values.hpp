// Values that a file has, as cells: a number is a number, and not the text it was written as.
#pragma once

#include "app/report/document.hpp"
#include "sim/config/node.hpp"

namespace moire::report {

// "4" is 4, "0.5" is 0.5; all else, "0.4 us", is text.
Cell value_of(const std::string& text);

// The same where it may be a version, which 12.10 is and 12.1 is another one: whole numbers alone are numbers.
Cell count_or_text(const std::string& text);

// A file stands for itself: its name says more than its content. What stands in quotes is text.
Cell value_of(const config::Node& node);

}  // namespace moire::report
