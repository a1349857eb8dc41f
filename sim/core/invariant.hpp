// Assertions about Moire itself. A failure is a bug of Moire, never wrong user input: the command exits with status 70.
#pragma once

#include <stdexcept>
#include <string>

namespace moire::core {

struct InvariantError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void invariant_failed(const char* condition, const std::string& what, const char* file, int line);

}  // namespace moire::core

#define MOIRE_INVARIANT(condition, what)                                                       \
  do {                                                                                         \
    if (!(condition)) ::moire::core::invariant_failed(#condition, (what), __FILE__, __LINE__); \
  } while (false)
