// Finds the step that is to blame for a wrong output. To do so, runs the program again and records the history of every
// value.
#pragma once

#include "models/algorithms/proof/result.hpp"

namespace moire::proof {

// Fills in the members of `wrong` other than gpu and chunk, which must name the wrong output: what was expected, what
// was found, the kind of fault, and the step at fault.
void explain(const Program& program, const Layout& layout, const Goal& goal, const std::vector<std::uint32_t>& order,
             std::uint32_t cells_per_call, Wrong& wrong);

}  // namespace moire::proof
