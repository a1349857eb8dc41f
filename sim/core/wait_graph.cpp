#include "sim/core/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/strong_components.hpp>
#include <optional>
#include <set>

namespace moire::core {

namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using Vertex = Graph::vertex_descriptor;

// Breadth-first search from one node for a path back to this node. A visitor of the Boost Graph Library can stop a
// search only by an exception, so this visitor throws Ended.
struct Search : boost::default_bfs_visitor {
  struct Ended {
    std::optional<Vertex> last;  // the last node before the start, if a path back was found
  };
  struct Reached {
    Vertex from;
    std::size_t nodes;  // number of nodes on the path from the start
  };
  using Paths = std::unordered_map<Vertex, Reached>;

  Search(Vertex from, std::size_t shorter_than, std::size_t& edges, Paths& found)
      : start(from), limit(shorter_than), budget(&edges), paths(&found) {
    (*paths)[start] = {start, 1};
  }
  void examine_vertex(Vertex v, const Graph&) const {
    if (paths->at(v).nodes + 1 >= limit) throw Ended{};
  }
  void examine_edge(Graph::edge_descriptor e, const Graph&) const {
    if (e.m_target == start) throw Ended{e.m_source};
    if (--*budget == 0) throw Ended{};
  }
  void tree_edge(Graph::edge_descriptor e, const Graph&) const {
    (*paths)[e.m_target] = {e.m_source, paths->at(e.m_source).nodes + 1};
  }

  Vertex start;
  std::size_t limit;  // a cycle must have fewer nodes than this, where its first node counts twice
  std::size_t* budget;
  Paths* paths;
};

// Returns the shortest cycle through `start`, with `start` at both ends. Returns nothing if this cycle has `limit`
// nodes or more, or if the search does not find it within `budget` edges.
std::vector<WaitGraph::Node> cycle_through(Vertex start, std::size_t limit, std::size_t& budget, const Graph& graph) {
  // Hash maps that grow with the search and not with the graph, because there may be one search per node.
  std::unordered_map<Vertex, boost::default_color_type> colors;
  Search::Paths paths;
  boost::queue<Vertex> open;
  std::vector<WaitGraph::Node> nodes;
  try {
    breadth_first_visit(graph, start, open, Search(start, limit, budget, paths),
                        boost::make_assoc_property_map(colors));
  } catch (const Search::Ended& ended) {
    if (!ended.last) return {};
    nodes.push_back(static_cast<WaitGraph::Node>(start));
    for (Vertex at = *ended.last; at != start; at = paths.at(at).from)
      nodes.push_back(static_cast<WaitGraph::Node>(at));
    nodes.push_back(static_cast<WaitGraph::Node>(start));
    std::reverse(nodes.begin(), nodes.end());
  }
  return nodes;
}

}  // namespace

WaitGraph::Node WaitGraph::node(const std::string& name) {
  const auto [entry, added] = nodes_.try_emplace(name, static_cast<Node>(names_.size()));
  if (added) names_.push_back(name);
  return entry->second;
}

void WaitGraph::edge(Node from, Node to, std::string reason) { edges_.push_back({from, to, std::move(reason)}); }

std::vector<WaitGraph::Node> WaitGraph::cycle() const {
  Graph graph(names_.size());
  for (const Edge& e : edges_) add_edge(e.from, e.to, graph);
  std::vector<Node> part(names_.size());
  strong_components(graph, boost::make_iterator_property_map(part.begin(), get(boost::vertex_index, graph)));
  std::set<Node> starts;  // an edge within a strongly connected component is on a cycle
  for (const Edge& e : edges_) {
    if (part[e.from] == part[e.to]) starts.insert(e.from);
  }
  std::vector<Node> best;
  std::size_t budget = SIZE_MAX;  // edges that searches may visit; the first search always completes
  for (const Node start : starts) {
    std::vector<Node> found = cycle_through(start, best.empty() ? SIZE_MAX : best.size(), budget, graph);
    if (!found.empty()) {
      if (best.empty()) budget = 2'000'000;  // for all further searches together, so that the report stays fast
      best = std::move(found);
    }
    if (budget == 0 || best.size() == 2) break;
  }
  return best;
}

std::string WaitGraph::report(std::size_t limit) const {
  std::string text;
  const auto line = [&](const Edge& e) {
    text += fmt::format("  {}: {}; so it waits for {}\n", names_[e.from], e.reason, names_[e.to]);
  };
  const std::vector<Node> loop = cycle();
  if (!loop.empty()) {
    text += "cycle:\n";
    std::vector<const Edge*> along(names_.size(), nullptr);  // by source node: the first reason given
    std::vector<Node> next(names_.size(), UINT32_MAX);
    for (std::size_t i = 0; i + 1 < loop.size(); ++i) next[loop[i]] = loop[i + 1];
    for (const Edge& e : edges_) {
      if (next[e.from] == e.to && along[e.from] == nullptr) along[e.from] = &e;
    }
    for (std::size_t i = 0; i + 1 < loop.size(); ++i) line(*along[loop[i]]);
  }
  text += loop.empty() ? "waits (no cycle: something waits for an event that will never happen):\n" : "all waits:\n";
  for (std::size_t i = 0; i < edges_.size() && i < limit; ++i) line(edges_[i]);
  if (edges_.size() > limit) text += fmt::format("  and {} more\n", edges_.size() - limit);
  return text;
}

}  // namespace moire::core
