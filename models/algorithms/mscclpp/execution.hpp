// Runs a plan without time, chunk by chunk: what is where, who knows of what, who waits for whom.
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
    unwritten,  // a read of what nobody wrote
    wrong,      // of the result
  } kind = Kind::race;
  bool after_call = false;  // of a race: with what the user does once its call has ended
  int line = 0;
  int col = 0;
  std::string what;
  std::string remedy;
};

struct Outcome {
  std::vector<Fault> faults;     // one an operation and kind, as many as are told
  std::size_t more = 0;          // faults beyond those
  std::uint64_t operations = 0;  // that were run
};

inline constexpr double most_work = 400e6;  // slices, clock entries and room of a run

// What running it would take, to be compared with most_work.
double work_of(const Plan& plan, Cut cut);

// The plan keeps check_rules.
Outcome execute(const Plan& plan, Cut cut);

}  // namespace moire::mscclpp
