// Folding: which ranks of a program must be simulated. If program and machine are unchanged when every node takes the
// place of the node one block further on, only the first block is simulated. Its messages to other blocks pass the
// fabric and arrive in the block itself, where they stand for those that other blocks would send to it.
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
  std::string why_not{};     // why there are not more: what prevents blocks of one node; empty: nothing does
  bool certain = true;       // false: some links are shared by all blocks, and only the run shows whether it uses them
};

// `machine`: a machine of the system, with any number of images.
Fold fold_of(const machine::Machine& machine, const program::Program& program);

struct Folded {
  std::unique_ptr<machine::Machine> machine;
  Result result;
  Fold fold;  // the folding that was used
};

// Replays on the machine that `build` makes for a number of images. Uses `fold`, but repeats the run with all ranks if
// blocks turn out to share a link, or if it deadlocks, because the report names all ranks. `observer` does not watch
// the repeated run: of a deadlock it sees the folded run.
Folded run_folded(const Fold& fold, const std::function<std::unique_ptr<machine::Machine>(program::Rank)>& build,
                  const program::Program& program, program::Observer* observer = nullptr,
                  const std::vector<bool>& watched = {});

}  // namespace moire::replay
