#include "tests/support/source_dir.hpp"

namespace moire::support {

std::string source_dir() { return MOIRE_SOURCE_DIR; }

}  // namespace moire::support
