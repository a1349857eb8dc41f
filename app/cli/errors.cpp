#include "app/cli/errors.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace moire::cli {

void print_errors(const config::Diagnostics& diagnostics) {
  std::fflush(stdout);  // what was printed before comes before, also in a pipe
  const std::size_t errors = diagnostics.sorted().size();
  fmt::print(stderr, "{}{} error{}\n", diagnostics.str(), errors, errors == 1 ? "" : "s");
}

void print_warnings(const config::Diagnostics& diagnostics) {
  if (!diagnostics.warned()) return;
  std::fflush(stdout);
  fmt::print(stderr, "{}", diagnostics.warnings());
}

}  // namespace moire::cli
