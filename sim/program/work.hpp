// How much there is to simulate in a program, told before it runs.
#pragma once

#include "sim/program/program.hpp"

namespace moire::program {

struct Work {
  double workgroups = 0;  // over all ranks
  double steps = 0;       // phases that they go through, items of queues included
};

// Asks some workgroups of some ranks of each kernel and takes the others to be like them: workgroups are counted,
// steps are within some percent where workgroups are alike. Takes milliseconds, however large the program is.
Work work_of(const Program& program);

}  // namespace moire::program
