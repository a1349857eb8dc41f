// The root of the checkout that the tests run in: shipped configurations and test data are read from there.
#pragma once

#include <string>

namespace moire::support {

std::string source_dir();

}  // namespace moire::support
