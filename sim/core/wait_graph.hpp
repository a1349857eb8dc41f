// Who waits for whom when nothing moves any more: the deadlock report.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace moire::core {

class WaitGraph {
 public:
  using Node = std::uint32_t;
  // A party of the deadlock: "rank 3 queue main kernel fused_embedding". Same name, same node.
  Node node(const std::string& name);
  // `from` cannot go on before `to` does something; `reason` says what ("WG 17 waits for flag ready[2] >= 4, is 3").
  void edge(Node from, Node to, std::string reason);

  // A cycle, first node repeated at the end; empty if there is none. It is the shortest one, and among those the one
  // through the lowest-numbered node, unless the graph is so large that the search for a shorter one is cut off.
  std::vector<Node> cycle() const;
  // Lines for the user: the cycle if there is one, then up to `limit` waits.
  std::string report(std::size_t limit = 12) const;

 private:
  struct Edge {
    Node from;
    Node to;
    std::string reason;
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, Node> nodes_;  // looked up only, never walked: its order is not ours
  std::vector<Edge> edges_;
};

}  // namespace moire::core
