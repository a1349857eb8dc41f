// Builds trees over all ranks: a chain of GPUs in each node, and a pair of binary trees over the nodes.
#pragma once

#include <array>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

struct Tree {
  Rank root = 0;
  std::vector<Rank> parent;  // the root is its own parent
  // The children of each rank. The first GPU of a node lists the next GPU of its chain, then first GPUs of other nodes.
  std::vector<std::vector<Rank>> children;
  std::vector<std::uint32_t> place;  // index of a rank among its parent's children
};

inline constexpr std::uint32_t most_children = 3;

// Returns the trees of the channels: channel c takes tree c modulo the number of trees. With several nodes, there is a
// pair of trees for each GPU number; the GPU with this number is the first GPU of every node in this pair. A node that
// is a leaf in one tree of a pair is an inner node in the other tree. With one node, each tree is a chain of its GPUs.
std::vector<Tree> trees(const machine::SystemSpec& system);
// Returns the pair of binary trees over nodes. In these trees, the ranks are the numbers of nodes.
std::array<Tree, 2> trees_of_nodes(Rank nodes);
// Returns the tree of a broadcast from rank `root`.
Tree tree_from(const machine::SystemSpec& system, Rank root);

}  // namespace moire::collective
