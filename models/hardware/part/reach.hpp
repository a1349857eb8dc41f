// Where one GPU is relative to another (same GPU, same node, other node), and whether its stores reach the other GPU.
#pragma once

#include "sim/program/program.hpp"

namespace moire::part {

using program::Rank;

class Reach {
 public:
  Reach() = default;  // nodes of a single GPU
  // `wired`: the GPUs of a node are connected by scale-up links.
  Reach(Rank gpus_per_node, bool wired) : gpus_per_node_(gpus_per_node), wired_(wired) {}

  Rank gpus_per_node() const { return gpus_per_node_; }
  Rank node_of(Rank rank) const { return rank / gpus_per_node_; }
  Rank gpu_of(Rank rank) const { return rank % gpus_per_node_; }  // index within the node
  bool same_node(Rank a, Rank b) const { return node_of(a) == node_of(b); }

  // True if a workgroup of `a` can store directly to memory of `b`; otherwise data must go through a NIC.
  bool stores(Rank a, Rank b) const { return a == b || (wired_ && same_node(a, b)); }
  // Returns the number of other GPUs that stores of a GPU reach.
  Rank peers() const { return wired_ ? gpus_per_node_ - 1 : 0; }

 private:
  Rank gpus_per_node_ = 1;
  bool wired_ = false;
};

}  // namespace moire::part
