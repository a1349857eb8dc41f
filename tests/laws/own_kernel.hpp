// Draws the keys of a custom `kernel`, with steps of all kinds. Every wait of a strict case ends.
#pragma once

#include "tests/laws/workload.hpp"

namespace moire::laws {

void draw_own_kernel(Case& one, Random& random, Draw how);

}  // namespace moire::laws
