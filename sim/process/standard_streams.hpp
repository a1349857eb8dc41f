// Standard output and standard error, the only way to them.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string_view>

namespace moire::process {

// Before any file is opened: a file must not get the number of a stream that was closed, or what is said there would be
// written into it.
void reserve_standard_streams();

// Somebody asked for the result, and it is not there.
struct OutputLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// To standard output, at once. Throws OutputLost.
void print(std::string_view text);
// At the end: some systems tell only now. Throws OutputLost.
void close_output();

// To standard error. What cannot be told must not keep a result from being written, so nothing is thrown.
void tell_text(std::string_view text) noexcept;

template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) noexcept {
  try {
    tell_text(fmt::vformat(format, fmt::make_format_args(args...)));
  } catch (...) {  // no memory for it
  }
}

}  // namespace moire::process
