// Graph of who waits for whom when nothing can progress any more, for the deadlock report.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace moire::core {

class WaitGraph {
 public:
  using Node = std::uint32_t;
  // A participant of the deadlock, such as "rank 3 queue main kernel fused_embedding". Same name, same node.
  Node node(const std::string& name);
  // `from` cannot continue until `to` acts; `reason` says why ("WG 17 waits for flag ready[2] >= 4, is 3").
  void edge(Node from, Node to, std::string reason);

  // A cycle with the first node repeated at the end, or empty if there is none. It is a shortest one, and among those
  // the one through the lowest-numbered node, unless the graph is so large that the search is cut off.
  std::vector<Node> cycle() const;
  // Text for the user: the cycle, if there is one, then up to `limit` waits.
  std::string report(std::size_t limit = 12) const;

 private:
  struct Edge {
    Node from;
    Node to;
    std::string reason;
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, Node> nodes_;  // never iterated, because its order is not deterministic
  std::vector<Edge> edges_;
};

}  // namespace moire::core
