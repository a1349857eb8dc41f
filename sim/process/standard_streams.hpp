// All output of Moire to standard output and standard error goes through these functions.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string_view>

namespace moire::process {

// Gives every closed standard stream a descriptor. Call it before any file is opened: otherwise a file could get the
// number of a closed standard stream, and messages would be written into this file.
void reserve_standard_streams();

// Thrown if standard output cannot be written, so that the requested result is lost.
struct OutputLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes to standard output without buffering. Throws OutputLost if this fails.
void print(std::string_view text);
// Closes standard output. Call it at the end, because some systems report errors only on close. Throws OutputLost if
// this fails.
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
