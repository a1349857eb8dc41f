#include "models/workload/collective/trees.hpp"

#include "models/workload/collective/rings.hpp"

namespace moire::collective {

namespace {

void adopt(Tree& tree, Rank parent, Rank child) {
  tree.parent[child] = parent;
  tree.place[child] = static_cast<std::uint32_t>(tree.children[parent].size());
  tree.children[parent].push_back(child);
}

// Returns the parent of a node in a binary tree over the nodes. Node 0 is the root. Nodes with odd numbers are leaves,
// nodes 2, 6, 10, ... have two leaves as children, and so on (NCCL: ncclGetBtree in src/graph/trees.cc).
Rank above(Rank node, Rank nodes) {
  const Rank bit = node & (0 - node);
  const Rank up = (node ^ bit) | bit << 1;
  return up < nodes ? up : node ^ bit;
}

// Returns the parent of a node in the second tree of the pair. For an even number of nodes, the second tree is the
// first tree mirrored; for an odd number, the first tree shifted by one (NCCL: ncclGetDtree). Leaves of each tree are
// inner nodes of the other. If the number of nodes is odd, node 0 is an inner node of both.
Rank above_in_other(Rank node, Rank nodes) {
  if (nodes % 2 == 0) return nodes - 1 - above(nodes - 1 - node, nodes);
  return (above((node + nodes - 1) % nodes, nodes) + 1) % nodes;
}

// Makes a tree in which GPU order[first] is the first GPU of every node. The nodes, numbered from node `root` on, form
// the first tree of the pair or, with `other`, the second.
Tree make(Rank nodes, const std::vector<Rank>& order, Rank first, Rank root, bool other) {
  const auto gpus = static_cast<Rank>(order.size());
  Tree tree;
  tree.parent.assign(std::size_t{nodes} * gpus, 0);
  tree.children.resize(tree.parent.size());
  tree.place.assign(tree.parent.size(), 0);
  const auto in_node = [&](Rank node, Rank place) { return node * gpus + order[(first + place) % gpus]; };
  const Rank top = !other || nodes == 1 ? 0 : nodes % 2 == 0 ? nodes - 1 : 1;
  tree.root = in_node((root + top) % nodes, 0);
  tree.parent[tree.root] = tree.root;
  for (Rank node = 0; node < nodes; ++node) {
    for (Rank place = 1; place < gpus; ++place) adopt(tree, in_node(node, place - 1), in_node(node, place));
  }
  for (Rank node = 0; node < nodes; ++node) {
    if (node == top) continue;
    const Rank parent = other ? above_in_other(node, nodes) : above(node, nodes);
    adopt(tree, in_node((root + parent) % nodes, 0), in_node((root + node) % nodes, 0));
  }
  return tree;
}

// Returns the GPUs of a ring within a node in the order of the ring, from GPU 0 on.
std::vector<Rank> order_of(const Ring& ring) {
  std::vector<Rank> order(ring.next.size());
  for (Rank gpu = 0; gpu < order.size(); ++gpu) order[ring.position[gpu]] = gpu;
  return order;
}

std::vector<Ring> rings_in_node(machine::SystemSpec system) {
  system.nodes = 1;
  return rings(system);
}

}  // namespace

std::vector<Tree> trees(const machine::SystemSpec& system) {
  const std::vector<Ring> ways = rings_in_node(system);
  const auto nodes = static_cast<Rank>(system.nodes);
  std::vector<Tree> made;
  if (system.nodes == 1) {
    for (const Ring& way : ways) made.push_back(make(nodes, order_of(way), 0, 0, false));
    return made;
  }
  for (const Rank first : gpus_by_nic(system)) {
    for (const bool other : {false, true})
      made.push_back(make(nodes, order_of(ways[first % ways.size()]), first, 0, other));
  }
  return made;
}

std::array<Tree, 2> trees_of_nodes(Rank nodes) { return {make(nodes, {0}, 0, 0, false), make(nodes, {0}, 0, 0, true)}; }

Tree tree_from(const machine::SystemSpec& system, Rank root) {
  const part::Reach reach = system.node.reach();
  const Ring way = rings_in_node(system).front();
  return make(static_cast<Rank>(system.nodes), order_of(way), way.position[reach.gpu_of(root)], reach.node_of(root),
              false);
}

}  // namespace moire::collective
