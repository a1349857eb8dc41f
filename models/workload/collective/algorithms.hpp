// Channel programs of the algorithms.
#pragma once

#include <memory>

#include "models/algorithms/ir/channel_program.hpp"
#include "models/hardware/machine/spec.hpp"
#include "models/workload/collective/kind.hpp"

namespace moire::collective {

using ir::ChannelProgram;
using ir::Op;
using ir::Rank;
using ir::Step;

struct Work {
  const machine::SystemSpec& system;
  Kind kind;
  double bytes;            // of a rank's input; broadcast: of the buffer
  std::uint32_t channels;  // at most
  double chunk;            // bytes, at most
  double cell;             // traffic of which channels have whole numbers
  bool copies_own = true;  // all-gather: the own share to the output
  Rank root = 0;           // broadcast
};

std::shared_ptr<const ChannelProgram> ring_program(const Work& work);
std::shared_ptr<const ChannelProgram> tree_program(const Work& work);       // all-reduce, broadcast
std::shared_ptr<const ChannelProgram> direct_program(const Work& work);     // not all-to-all
std::shared_ptr<const ChannelProgram> recursive_program(const Work& work);  // a power of two of ranks, no broadcast

}  // namespace moire::collective
