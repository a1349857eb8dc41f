// Runs a plan without time on slices of chunks (memory.hpp). Tracks the contents of memory, what each agent (a thread
// block, or the proxy of a port) knows about the progress of others, and who waits for whom. docs/decisions.md says why
// models/algorithms/proof cannot run plans, too.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/mscclpp/faults.hpp"
#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

struct Outcome {
  std::vector<Fault> faults;     // at most one for each operation and kind; later ones are only counted in `more`
  std::size_t more = 0;          // number of faults that are not listed
  std::uint64_t operations = 0;  // operations that were run
};

// Runs the plan, which must pass check_rules(), with chunks cut into slices by `cut`, and returns its faults.
Outcome execute(const Plan& plan, Cut cut);

}  // namespace moire::mscclpp
