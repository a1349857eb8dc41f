#include "app/cli/errors.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sim/core/log.hpp"

namespace moire::cli {

void print_errors(const config::Diagnostics& diagnostics) {
  std::fflush(stdout);  // what was printed before comes before, also in a pipe
  const std::size_t errors = diagnostics.sorted().size();
  core::log_error("{}", diagnostics.str());
  fmt::print(stderr, "{}{} error{}\n", diagnostics.str(), errors, errors == 1 ? "" : "s");
}

void print_warnings(const config::Diagnostics& diagnostics) {
  if (!diagnostics.warned()) return;
  std::fflush(stdout);
  core::log_warning("{}", diagnostics.warnings());
  fmt::print(stderr, "{}", diagnostics.warnings());
}

}  // namespace moire::cli
