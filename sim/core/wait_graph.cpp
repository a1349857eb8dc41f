#include "sim/core/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace moire::core {

WaitGraph::Node WaitGraph::node(const std::string& name) {
  const auto [entry, added] = nodes_.try_emplace(name, static_cast<Node>(names_.size()));
  if (added) names_.push_back(name);
  return entry->second;
}

void WaitGraph::edge(Node from, Node to, std::string reason) { edges_.push_back({from, to, std::move(reason)}); }

std::vector<WaitGraph::Node> WaitGraph::cycle() const {
  const std::size_t n = names_.size();
  // Edges by the node they leave and by the node they reach.
  std::vector<std::size_t> out_first(n + 1, 0);
  std::vector<std::size_t> in_first(n + 1, 0);
  for (const Edge& e : edges_) {
    ++out_first[e.from + 1];
    ++in_first[e.to + 1];
  }
  std::partial_sum(out_first.begin(), out_first.end(), out_first.begin());
  std::partial_sum(in_first.begin(), in_first.end(), in_first.begin());
  std::vector<Node> out(edges_.size());
  std::vector<Node> in(edges_.size());
  auto out_next = out_first;
  auto in_next = in_first;
  for (const Edge& e : edges_) {
    out[out_next[e.from]++] = e.to;
    in[in_next[e.to]++] = e.from;
  }

  // A node without a way out is on no cycle, and neither is one whose ways all end there: peel them off.
  std::vector<std::size_t> ways(n);
  std::vector<Node> ends;
  for (Node at = 0; at < n; ++at) {
    ways[at] = out_first[at + 1] - out_first[at];
    if (ways[at] == 0) ends.push_back(at);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t e = in_first[ends[i]]; e < in_first[ends[i] + 1]; ++e) {
      if (--ways[in[e]] == 0) ends.push_back(in[e]);
    }
  }
  if (ends.size() == n) return {};

  // From any node that is left one can walk for ever, so the walk closes a cycle.
  std::vector<Node> best;
  std::vector<std::size_t> step(n, 0);
  Node at = static_cast<Node>(std::find_if(ways.begin(), ways.end(), [](auto w) { return w > 0; }) - ways.begin());
  while (step[at] == 0) {
    best.push_back(at);
    step[at] = best.size();
    at = *std::find_if(out.begin() + static_cast<std::ptrdiff_t>(out_first[at]), out.end(),
                       [&](Node to) { return ways[to] > 0; });
  }
  best.erase(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(step[at] - 1));
  best.push_back(best.front());

  // Look for a shorter one, breadth first from each node, while that stays cheap.
  std::size_t budget = 2'000'000;  // edges
  constexpr Node unseen = UINT32_MAX;
  std::vector<Node> came_from(n, unseen);
  bool first = true;
  for (Node start = 0; start < n && budget > 0 && (first || best.size() > 2); ++start) {
    if (ways[start] == 0) continue;
    std::vector<Node> open{start};
    Node last = unseen;
    std::size_t layer_end = 1;
    std::size_t length = 2;  // of the path if it closes from this layer
    for (std::size_t i = 0; i < open.size() && last == unseen && budget > 0; ++i) {
      if (i == layer_end) {
        layer_end = open.size();
        ++length;
      }
      if (length > best.size() || (length == best.size() && !first)) break;
      for (std::size_t e = out_first[open[i]]; e < out_first[open[i] + 1] && budget > 0; ++e, --budget) {
        if (out[e] == start) {
          last = open[i];
          break;
        }
        if (ways[out[e]] == 0 || came_from[out[e]] != unseen) continue;
        came_from[out[e]] = open[i];
        open.push_back(out[e]);
      }
    }
    if (last != unseen) {
      best.assign(1, start);
      for (Node back = last; back != start; back = came_from[back]) best.push_back(back);
      best.push_back(start);
      std::reverse(best.begin(), best.end());
      first = false;
    }
    for (const Node seen : open) came_from[seen] = unseen;
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
    std::vector<const Edge*> along(names_.size(), nullptr);  // by the node it leaves: the first reason that was given
    std::vector<Node> next(names_.size(), UINT32_MAX);
    for (std::size_t i = 0; i + 1 < loop.size(); ++i) next[loop[i]] = loop[i + 1];
    for (const Edge& e : edges_) {
      if (next[e.from] == e.to && along[e.from] == nullptr) along[e.from] = &e;
    }
    for (std::size_t i = 0; i + 1 < loop.size(); ++i) line(*along[loop[i]]);
  }
  text += loop.empty() ? "waits (no cycle: someone waits for what nobody will ever do):\n" : "all waits:\n";
  for (std::size_t i = 0; i < edges_.size() && i < limit; ++i) line(edges_[i]);
  if (edges_.size() > limit) text += fmt::format("  and {} more\n", edges_.size() - limit);
  return text;
}

}  // namespace moire::core
