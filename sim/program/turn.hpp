// Checks whether a program is unchanged when every rank takes the place of the rank `by` further on (modulo the number
// of ranks). If it is, and the machine is symmetric too, every block of `by` ranks does the same at the same time, and
// one block can be simulated for all (docs/explanation/folding.md).
#pragma once

#include <string>

#include "sim/program/program.hpp"

namespace moire::program {

// Empty if the program is unchanged; else the operation that prevents it, and why.
std::string keeps_from_turning(const Program& program, Rank by);

// True if phase `moved` of rank `to` is phase `phase` of rank `from` with every named rank moved by to - from. Flags
// correspond if they belong to the same array at the moved rank; their indices may differ.
bool is_turned(const Program& program, const Kernel& kernel, const Phase& phase, Rank from, const Phase& moved,
               Rank to);

}  // namespace moire::program
