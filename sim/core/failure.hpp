// A run failed for lack of something outside Moire: memory, disk space, a writable folder.
#pragma once

#include <stdexcept>

namespace moire::core {

struct RunFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace moire::core
