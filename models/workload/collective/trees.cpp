#include "models/workload/collective/trees.hpp"

#include "models/workload/collective/rings.hpp"

namespace moire::collective {

namespace {

void adopt(Tree& tree, Rank parent, Rank child) {
  tree.parent[child] = parent;
  tree.place[child] = static_cast<std::uint32_t>(tree.children[parent].size());
  tree.children[parent].push_back(child);
}

// `first` of every node's GPUs; the nodes as a binary heap from `root` on, up or down.
Tree make(const machine::SystemSpec& system, const std::vector<Rank>& order, Rank first, Rank root, bool backwards) {
  const auto gpus = static_cast<Rank>(system.node.gpus);
  const auto nodes = static_cast<Rank>(system.nodes);
  Tree tree;
  tree.parent.assign(std::size_t{nodes} * gpus, 0);
  tree.children.resize(tree.parent.size());
  tree.place.assign(tree.parent.size(), 0);
  const auto in_node = [&](Rank node, Rank place) { return node * gpus + order[(first + place) % gpus]; };
  const auto node_at = [&](Rank place) { return (root + (backwards ? nodes - place : place)) % nodes; };
  tree.root = in_node(root, 0);
  tree.parent[tree.root] = tree.root;
  for (Rank node = 0; node < nodes; ++node) {
    for (Rank place = 1; place < gpus; ++place) adopt(tree, in_node(node, place - 1), in_node(node, place));
  }
  for (Rank place = 1; place < nodes; ++place)
    adopt(tree, in_node(node_at((place - 1) / 2), 0), in_node(node_at(place), 0));
  return tree;
}

// Of a ring in a node, from GPU 0 on.
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
  std::vector<Tree> made;
  if (system.nodes == 1) {
    for (const Ring& way : ways) made.push_back(make(system, order_of(way), 0, 0, false));
    return made;
  }
  for (Rank first = 0; first < static_cast<Rank>(system.node.gpus); ++first) {
    for (const bool backwards : {false, true}) {
      const Rank root = backwards ? static_cast<Rank>(system.nodes - 1) : 0;
      made.push_back(make(system, order_of(ways[first % ways.size()]), first, root, backwards));
    }
  }
  return made;
}

Tree tree_from(const machine::SystemSpec& system, Rank root) {
  const part::Reach reach = system.node.reach();
  const Ring way = rings_in_node(system).front();
  return make(system, order_of(way), way.position[reach.gpu_of(root)], reach.node_of(root), false);
}

}  // namespace moire::collective
