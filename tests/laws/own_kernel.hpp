// Draws the keys of a custom kernel (the operator `kernel`), with steps of all kinds. In strict cases every rank raises
// the flags for which others wait, so that every wait ends.
#pragma once

#include "tests/laws/workload.hpp"

namespace moire::laws {

void draw_own_kernel(Case& one, Random& random, Draw how);

}  // namespace moire::laws
