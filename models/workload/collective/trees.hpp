// Trees over all ranks: a chain in each node, a pair of binary trees of the nodes.
#pragma once

#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

struct Tree {
  Rank root = 0;
  std::vector<Rank> parent;                 // the root's is itself
  std::vector<std::vector<Rank>> children;  // of a node's first GPU: the next of its chain, then those of other nodes
  std::vector<std::uint32_t> place;         // among its parent's children
};

inline constexpr std::uint32_t most_children = 3;

// A tree a channel may take, channel c the (c modulo size)-th: with several nodes each GPU of a node is its first in
// one of them, of each of a pair of trees of the nodes: those that are leaves in one are not in the other.
std::vector<Tree> trees(const machine::SystemSpec& system);
// One with this root.
Tree tree_from(const machine::SystemSpec& system, Rank root);

}  // namespace moire::collective
