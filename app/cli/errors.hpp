// How the user is told what is wrong with the input.
#pragma once

#include "sim/config/diagnostics.hpp"

namespace moire::cli {

// One line an error on stderr, then how many there are.
void print_errors(const config::Diagnostics& diagnostics);
// One line a warning on stderr.
void print_warnings(const config::Diagnostics& diagnostics);

}  // namespace moire::cli
