// Returns the root of the checkout, from which tests read shipped configurations and test data.
#pragma once

#include <string>

namespace moire::support {

std::string source_dir();

}  // namespace moire::support
