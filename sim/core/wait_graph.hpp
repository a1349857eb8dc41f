// A graph of the waits that remain when nothing can progress any more. The deadlock report is made from this graph.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace moire::core {

class WaitGraph {
 public:
  using Node = std::uint32_t;
  // Returns the node of a participant of the deadlock, such as "rank 3 queue main kernel fused_embedding". The same
  // name always gives the same node.
  Node node(const std::string& name);
  // Adds a wait: `from` cannot continue until `to` acts. `reason` says why ("WG 17 waits for flag ready[2] >= 4, is
  // 3").
  void edge(Node from, Node to, std::string reason);

  // Returns a cycle with the first node repeated at the end, or nothing if there is no cycle. The result is a shortest
  // cycle, and among these the cycle through the lowest-numbered node. In a very large graph the search stops early,
  // and the cycle may be longer than the shortest cycle.
  std::vector<Node> cycle() const;
  // Returns the text for the user: the cycle, if there is one, then up to `limit` waits.
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
