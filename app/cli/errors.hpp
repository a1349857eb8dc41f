// Prints errors and warnings about the input.
#pragma once

#include "sim/config/diagnostics.hpp"

namespace moire::cli {

// Prints one line for each error on stderr, then the number of errors.
void print_errors(const config::Diagnostics& diagnostics);
// Prints one line for each warning on stderr.
void print_warnings(const config::Diagnostics& diagnostics);

}  // namespace moire::cli
