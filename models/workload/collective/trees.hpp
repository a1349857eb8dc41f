// Trees over all ranks: a chain of GPUs in each node, and a pair of binary trees over the nodes.
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
  std::vector<std::vector<Rank>> children;  // of a node's first GPU: the next of its chain, then GPUs of other nodes
  std::vector<std::uint32_t> place;         // index among its parent's children
};

inline constexpr std::uint32_t most_children = 3;

// The trees that channels take: channel c takes tree c modulo their number. With several nodes each GPU of a node is
// the first of its node in a pair of trees, of which the leaves of one are inner nodes of the other.
std::vector<Tree> trees(const machine::SystemSpec& system);
// The pair of binary trees over nodes, without GPUs.
std::array<Tree, 2> trees_of_nodes(Rank nodes);
// The tree of a broadcast from this root.
Tree tree_from(const machine::SystemSpec& system, Rank root);

}  // namespace moire::collective
