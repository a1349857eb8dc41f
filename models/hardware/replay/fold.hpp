// Folding: finds out which ranks of a program must be simulated. A block is a number of consecutive nodes. If program
// and machine are unchanged when every node takes the place of the node one block further on, only the first block is
// simulated. Its messages to other blocks pass the fabric and arrive in the first block. There they stand for the
// messages that other blocks would send to it. If blocks are larger than a node, and program and machine are unchanged
// when every node moves around inside its block, too, only a part of the first block is simulated.
// docs/explanation/folding.md has the proof.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/hardware/replay/replay.hpp"
#include "sim/program/program.hpp"

namespace moire::replay {

struct Fold {
  program::Rank images = 1;  // number of identical blocks, of which one is simulated
  std::string why_not{};     // why blocks cannot be single nodes; empty: they can
  // The blocks that turn: of ranks that are simulated together, inside larger blocks, ..., of all ranks. A run with all
  // ranks uses the same circle, so that simultaneous messages have the same order.
  std::vector<program::Rank> circle{};
  bool certain = true;  // false: all blocks share some links, and only the run shows whether messages use them
};

// Finds the smallest block that can be simulated for all blocks. `machine`: a machine of the system, with any number of
// images.
Fold fold_of(const machine::Machine& machine, const program::Program& program);

struct Folded {
  std::unique_ptr<machine::Machine> machine;
  Result result;
  Fold fold;  // the folding that was used
};

// Replays the program with `fold` on the machine that `build` makes for a number of images. Repeats the run with all
// ranks if blocks turn out to share a link, or if the run deadlocks, because the deadlock report names all ranks.
// `observer` watches only the first run. So if the program deadlocks, `observer` has seen the folded run.
Folded run_folded(const Fold& fold, const std::function<std::unique_ptr<machine::Machine>(program::Rank)>& build,
                  const program::Program& program, program::Observer* observer = nullptr,
                  const std::vector<bool>& watched = {});

}  // namespace moire::replay
