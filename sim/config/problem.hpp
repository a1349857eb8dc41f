// What is wrong with a value, and what would be right, where only the caller knows where it stands.
#pragma once

#include <string>

namespace moire::config {

struct Problem {
  std::string what;
  std::string remedy = {};  // may be empty

  std::string str() const { return remedy.empty() ? what : what + "; " + remedy; }
};

}  // namespace moire::config
