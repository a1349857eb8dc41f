// Runs a plan without time, chunk by chunk. Tracks the contents of memory, what each agent (a thread block, or the
// proxy of a port) knows about the progress of others, and who waits for whom.
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
  bool after_call = false;  // of a race: the access collides with the user's access after the call has ended
  int line = 0;
  int col = 0;
  std::string what;
  std::string remedy;
};

struct Outcome {
  std::vector<Fault> faults;     // at most one for each operation and kind, and only the first ones
  std::size_t more = 0;          // number of faults that are not listed
  std::uint64_t operations = 0;  // operations that were run
};

inline constexpr double most_work = 400e6;  // work_of() of the largest plan that is run

// Estimates the work of a run: the terms of sums and the entries of clocks that it handles, and its memory.
double work_of(const Plan& plan, Cut cut);

// Runs the plan, which must pass check_rules().
Outcome execute(const Plan& plan, Cut cut);

}  // namespace moire::mscclpp
