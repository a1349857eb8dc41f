#include "models/workload/collective/kind.hpp"

namespace moire::collective {

const char* name_of(Algorithm algorithm) {
  constexpr const char* names[] = {"auto", "ring", "tree", "direct", "recursive"};
  return names[static_cast<int>(algorithm)];
}

}  // namespace moire::collective
