// Which ranks of a program have to be simulated: where program and machine are the same when every node takes the place
// of the one a block of nodes on, those of the first block. What they send to others goes through the fabric and comes
// to them, as what the others send to them does. docs/explanation/folding.md has the proof.
#pragma once

#include <string>

#include "models/hardware/machine/machine.hpp"
#include "sim/program/program.hpp"

namespace moire::replay {

struct Fold {
  program::Rank images = 1;  // blocks, of which one is simulated
  std::string why_not{};     // why not more: what keeps a block of one node from doing; empty: nothing
};

// `machine`: of the system, with any number of images.
Fold fold_of(const machine::Machine& machine, const program::Program& program);

}  // namespace moire::replay
