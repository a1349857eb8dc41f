// A Problem states what is wrong with a value and what would be right. It has no place, because only the caller of the
// function that finds the problem knows the place.
#pragma once

#include <string>

namespace moire::config {

struct Problem {
  std::string what;
  std::string remedy = {};  // may be empty

  std::string str() const { return remedy.empty() ? what : what + "; " + remedy; }
};

}  // namespace moire::config
