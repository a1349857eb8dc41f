// What is wrong with a value and what would be right, if only the caller knows its place.
#pragma once

#include <string>

namespace moire::config {

struct Problem {
  std::string what;
  std::string remedy = {};  // may be empty

  std::string str() const { return remedy.empty() ? what : what + "; " + remedy; }
};

}  // namespace moire::config
