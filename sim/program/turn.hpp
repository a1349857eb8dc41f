// Checks whether a program stays the same when every rank r is replaced by rank r + by (modulo the number of ranks). If
// the program stays the same and the machine is symmetric too, every block of `by` ranks does the same at the same
// time. Then the simulation of one block gives the times of all blocks (docs/explanation/folding.md).
#pragma once

#include <optional>
#include <string>

#include "sim/core/circle.hpp"
#include "sim/program/program.hpp"

namespace moire::program {

// Returns an empty text if the program stays the same; else the operation that changes, and the reason. With `block`,
// ranks move around inside their blocks of so many consecutive ranks.
std::string keeps_from_turning(const Program& program, Rank by, std::optional<Rank> block = {});

// True if phase `moved` of rank `to` is the same as phase `phase` of rank `from`, with every peer and relay r replaced
// by rank r + (to - from), which `circle` defines. Flags count as the same if they belong to the same array at the
// replaced rank; their indices may differ.
bool is_turned(const Program& program, const Kernel& kernel, const Phase& phase, Rank from, const Phase& moved, Rank to,
               const core::Circle& circle);

}  // namespace moire::program
