#include "sim/process/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sim/process/descriptor.hpp"

namespace moire::process {

namespace {

bool printed = false;

[[noreturn]] void output_lost(int error) {
  printed = false;  // so that close_output() does not report the error again
  throw OutputLost(std::string("cannot write standard output: ") + std::strerror(error));
}

}  // namespace

void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is the number of this stream. The descriptor is opened for the
    // opposite direction, so that its use is still an error.
    const int flags = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) < 0) open("/", O_RDONLY);
  }
}

void print(std::string_view text) {
  if (text.empty()) return;
  printed = true;
  if (!write_all(STDOUT_FILENO, text)) output_lost(errno);
}

void close_output() {
  if (printed && close(STDOUT_FILENO) != 0) output_lost(errno);
}

void tell_text(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

}  // namespace moire::process
