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
  std::vector<Rank> parent;                 // the root is its own parent
  std::vector<std::vector<Rank>> children;  // of a node's first GPU: the next in its chain, then GPUs of other nodes
  std::vector<std::uint32_t> place;         // index among its parent's children
};

inline constexpr std::uint32_t most_children = 3;

// Returns the trees of the channels: channel c takes tree c modulo the number of trees. With several nodes, there is a
// pair of trees for each GPU of a node, in which this GPU is the first of its node. The leaves of one tree of a pair
// are inner nodes of the other tree.
std::vector<Tree> trees(const machine::SystemSpec& system);
// Returns the pair of binary trees over nodes, without GPUs.
std::array<Tree, 2> trees_of_nodes(Rank nodes);
// Returns the tree of a broadcast from this root.
Tree tree_from(const machine::SystemSpec& system, Rank root);

}  // namespace moire::collective
