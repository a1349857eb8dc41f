// The only access to standard output and standard error.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string_view>

namespace moire::process {

// Must run before any file is opened: otherwise a file could get the number of a closed standard stream, and messages
// would be written into it.
void reserve_standard_streams();

// Standard output cannot be written, so the requested result is lost.
struct OutputLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes to standard output at once. Throws OutputLost.
void print(std::string_view text);
// Call at the end, because some systems report errors only on close. Throws OutputLost.
void close_output();

// Writes to standard error. Never throws, because a lost message must not prevent a result.
void tell_text(std::string_view text) noexcept;

template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    tell_text(fmt::vformat(format, fmt::make_format_args(args...)));
  } catch (...) {  // out of memory
  }
}

}  // namespace moire::process
