// Where one GPU stands from another (the same GPU, the same node, another node), and whether its stores get there.
#pragma once

#include "sim/program/program.hpp"

namespace moire::part {

using program::Rank;

class Reach {
 public:
  Reach() = default;  // nodes of one GPU
  // `wired`: the GPUs of a node have links to each other.
  Reach(Rank gpus_per_node, bool wired) : gpus_per_node_(gpus_per_node), wired_(wired) {}

  Rank gpus_per_node() const { return gpus_per_node_; }
  Rank node_of(Rank rank) const { return rank / gpus_per_node_; }
  Rank gpu_of(Rank rank) const { return rank % gpus_per_node_; }  // its number in the node
  bool same_node(Rank a, Rank b) const { return node_of(a) == node_of(b); }

  // Can a workgroup of `a` store straight into the memory of `b`? Else it takes a put.
  bool stores(Rank a, Rank b) const { return a == b || (wired_ && same_node(a, b)); }
  // Other GPUs that the stores of one reach.
  Rank peers() const { return wired_ ? gpus_per_node_ - 1 : 0; }

 private:
  Rank gpus_per_node_ = 1;
  bool wired_ = false;
};

}  // namespace moire::part
