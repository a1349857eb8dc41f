// Which ranks of a program have to be simulated: where program and machine are the same when every node takes the place
// of the one a block of nodes on, those of the first block. What they send to others goes through the fabric and comes
// to them, as what the others send to them does. docs/explanation/folding.md has the proof.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/hardware/replay/replay.hpp"
#include "sim/program/program.hpp"

namespace moire::replay {

struct Fold {
  program::Rank images = 1;  // blocks, of which one is simulated
  std::string why_not{};     // why not more: what keeps a block of one node from doing; empty: nothing
  bool certain = true;       // false: there are links that all blocks share, and only the run shows whether it uses one
};

// `machine`: of the system, with any number of images.
Fold fold_of(const machine::Machine& machine, const program::Program& program);

struct Folded {
  std::unique_ptr<machine::Machine> machine;
  Result result;
  Fold fold;  // as it was simulated
};

// Replays on what `build` makes for a number of images: as `fold` says, and all ranks where only the run shows that
// blocks meet in a link of all, or where it hangs, since the report names all. What hangs `observer` sees of the block.
Folded run_folded(const Fold& fold, const std::function<std::unique_ptr<machine::Machine>(program::Rank)>& build,
                  const program::Program& program, program::Observer* observer = nullptr,
                  const std::vector<bool>& watched = {});

}  // namespace moire::replay
