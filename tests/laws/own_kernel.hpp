// Draws the keys of a custom `kernel`: steps of all kinds, such that every wait ends.
#pragma once

#include "tests/laws/workload.hpp"

namespace moire::laws {

void draw_own_kernel(Case& one, Random& random, Draw how);

}  // namespace moire::laws
