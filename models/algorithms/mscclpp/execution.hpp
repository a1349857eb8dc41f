// Runs a plan without time on slices of chunks (memory.hpp). Tracks the contents of memory, what each agent (a thread
// block, or the proxy of a port) knows about the progress of others, and who waits for whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

struct Fault {
  enum class Kind {
    deadlock,
    race,
    unwritten,  // a read of memory that nothing has written
    wrong,      // an output chunk does not hold what the collective requires
  } kind = Kind::race;
  bool after_call = false;  // of a race: the access may still happen after the call, when the user accesses memory
  int line = 0;
  int col = 0;
  std::string what;
  std::string remedy;
};

struct Outcome {
  std::vector<Fault> faults;     // at most one for each operation and kind; later ones are only counted in `more`
  std::size_t more = 0;          // number of faults that are not listed
  std::uint64_t operations = 0;  // operations that were run
};

inline constexpr double most_work = 400e6;  // work_of() of the largest plan that is run

// Returns an estimate of the work of a run without a unit: the terms of sums and entries of vector clocks that the run
// handles, plus 200 for each slice of memory.
double work_of(const Plan& plan, Cut cut);

// Runs the plan, which must pass check_rules(), with chunks cut into slices by `cut`, and returns its faults.
Outcome execute(const Plan& plan, Cut cut);

}  // namespace moire::mscclpp
