// Converts values of YAML files to cells. Texts that are numbers become numbers.
#pragma once

#include "app/report/document.hpp"
#include "sim/config/node.hpp"

namespace moire::report {

// Converts a text. "4" and "0.5" become numbers; everything else, such as "0.4 us", stays text.
Cell value_of(const std::string& text);

// Converts a text that may be a version. Only integers become numbers, because version 12.10 differs from 12.1.
Cell count_or_text(const std::string& text);

// Converts a node and everything below it. A node that is a whole file becomes the file's name, because the name says
// more to people than the content. Quoted values stay text.
Cell value_of(const config::Node& node);

}  // namespace moire::report
