#include "app/cli/errors.hpp"

#include "sim/core/log.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

void print_errors(const config::Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.sorted().size();
  core::log_error("{}", diagnostics.str());
  process::tell("{}{} error{}\n", diagnostics.str(), errors, errors == 1 ? "" : "s");
}

void print_warnings(const config::Diagnostics& diagnostics) {
  if (!diagnostics.warned()) return;
  core::log_warning("{}", diagnostics.warnings());
  process::tell("{}", diagnostics.warnings());
}

}  // namespace moire::cli
