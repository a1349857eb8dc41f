// Whether a program is the same when every rank takes the place of the one `by` places on: the ranks of a block of `by`
// then do what those of every other block do, at the same time, on a machine that is the same as well.
#pragma once

#include <string>

#include "sim/program/program.hpp"

namespace moire::program {

// Empty where it is; else the operation that keeps it from being so, and why.
std::string keeps_from_turning(const Program& program, Rank by);

// Whether `moved` of rank `to` is `phase` of rank `from`, with all ranks moved by to - from. Flags are those of the same
// array at the moved rank.
bool is_turned(const Program& program, const Kernel& kernel, const Phase& phase, Rank from, const Phase& moved,
               Rank to);

}  // namespace moire::program
