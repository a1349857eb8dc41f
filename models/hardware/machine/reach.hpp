// Where one GPU stands from another (the same GPU, the same node, another node), and whether its stores get there.
#pragma once

#include "models/hardware/machine/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::machine {

class Reach {
 public:
  Reach() = default;  // nodes of one GPU
  explicit Reach(const NodeSpec& node)
      : gpus_per_node_(static_cast<program::Rank>(node.gpus)), wired_(node.wiring != link::Wiring::none) {}

  program::Rank gpus_per_node() const { return gpus_per_node_; }
  program::Rank node_of(program::Rank rank) const { return rank / gpus_per_node_; }
  program::Rank gpu_of(program::Rank rank) const { return rank % gpus_per_node_; }  // its number in the node
  bool same_node(program::Rank a, program::Rank b) const { return node_of(a) == node_of(b); }

  // Can a workgroup of `a` store straight into the memory of `b`? Else it takes a put.
  bool stores(program::Rank a, program::Rank b) const { return a == b || (wired_ && same_node(a, b)); }
  // Other GPUs that the stores of one reach.
  program::Rank peers() const { return wired_ ? gpus_per_node_ - 1 : 0; }

 private:
  program::Rank gpus_per_node_ = 1;
  bool wired_ = false;
};

}  // namespace moire::machine
