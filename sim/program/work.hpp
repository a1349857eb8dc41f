// Estimates the size of a program before it runs: the number of workgroups and of their steps.
#pragma once

#include "sim/program/program.hpp"

namespace moire::program {

struct Work {
  double workgroups = 0;  // over all ranks
  double steps = 0;       // phases that workgroups execute, including those of queue items
};

// Counts the steps of some workgroups of some ranks of each kernel and extrapolates. The number of workgroups is exact.
// The number of steps is within a few percent if workgroups are alike. The estimate takes milliseconds, however large
// the program is.
Work work_of(const Program& program);

}  // namespace moire::program
