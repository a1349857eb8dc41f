#include "app/import/wires.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/max_cardinality_matching.hpp>
#include <map>
#include <optional>
#include <set>

namespace moire::importing {

namespace {

bool is_switch(std::uint32_t target_class) { return target_class >> 8 == 0x0680 && target_class != 0x068001; }
bool is_cpu(std::uint32_t target_class) { return target_class == 0x068001; }

Shape shape_of(const Wires& wires, const std::vector<std::int64_t>& to_switch) {
  const std::size_t gpus = to_switch.size();
  const auto switched =
      static_cast<std::size_t>(std::count_if(to_switch.begin(), to_switch.end(), [](auto n) { return n > 0; }));
  if (switched > 0) return switched == gpus ? Shape::to_switch : Shape::mixed;
  const std::size_t linked = wires.linked_pairs();
  if (linked == 0) return Shape::none;
  if (linked < gpus * (gpus - 1) / 2) return Shape::partial;
  return wires.fewest() == wires.most() ? Shape::mesh : Shape::uneven;
}

std::size_t common(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

std::int64_t Wires::fewest() const {
  if (shape == Shape::to_switch || pairs.size() < 2) return *std::min_element(links.begin(), links.end());
  std::int64_t least = pairs[0][1];
  for (std::size_t a = 0; a < pairs.size(); ++a) {
    for (std::size_t b = a + 1; b < pairs.size(); ++b) least = std::min(least, std::min(pairs[a][b], pairs[b][a]));
  }
  return least;
}

std::int64_t Wires::most() const {
  if (shape == Shape::to_switch || pairs.size() < 2) return *std::max_element(links.begin(), links.end());
  std::int64_t most = 0;
  for (const auto& row : pairs) most = std::max(most, *std::max_element(row.begin(), row.end()));
  return most;
}

std::size_t Wires::linked_pairs() const {
  std::size_t linked = 0;
  for (std::size_t a = 0; a < pairs.size(); ++a) {
    for (std::size_t b = a + 1; b < pairs.size(); ++b) linked += pairs[a][b] > 0 || pairs[b][a] > 0 ? 1 : 0;
  }
  return linked;
}

Wires wires_of(const Topology& topology) {
  const std::size_t gpus = topology.gpus.size();
  Wires wires;
  wires.links.resize(gpus);
  wires.pairs.assign(gpus, std::vector<std::int64_t>(gpus));
  std::map<std::string, std::size_t, std::less<>> by_id;
  for (std::size_t g = 0; g < gpus; ++g) by_id.emplace(topology.gpus[g].pci.bus_id, g);
  std::vector<std::int64_t> to_switch(gpus);
  std::set<std::string> switches;
  bool first = true;
  for (std::size_t g = 0; g < gpus; ++g) {
    for (const TopologyLink& link : topology.gpus[g].links) {
      if (link.kind == LinkKind::c2c || is_cpu(link.target_class)) {
        wires.to_cpu += link.count;
        continue;
      }
      if (first) wires.kind = link.kind;
      first = false;
      const auto peer = by_id.find(link.target);
      if (is_switch(link.target_class)) {
        to_switch[g] += link.count;
        switches.insert(link.target);
      } else if (peer == by_id.end()) {
        wires.astray += link.count;
      } else if (peer->second == g) {
        wires.to_itself += link.count;
      } else {
        wires.pairs[g][peer->second] += link.count;
      }
    }
  }
  wires.switches = switches.size();
  for (std::size_t g = 0; g < gpus; ++g) {
    wires.links[g] = to_switch[g];
    for (std::size_t peer = 0; peer < gpus; ++peer) {
      wires.links[g] += wires.pairs[g][peer];
      wires.one_sided |= wires.pairs[g][peer] != wires.pairs[peer][g];
    }
  }
  wires.shape = shape_of(wires, to_switch);
  return wires;
}

std::vector<std::size_t> nearest_nics(const TopologyGpu& gpu, const std::vector<TopologyNic>& nics) {
  std::vector<std::size_t> nearest;
  std::size_t deepest = 0;
  for (std::size_t n = 0; n < nics.size(); ++n) {
    const std::size_t shared = nics[n].pci ? common(gpu.pci.path, nics[n].pci->path) : 0;
    if (shared > deepest) nearest.clear();
    deepest = std::max(deepest, shared);
    if (shared == deepest) nearest.push_back(n);
  }
  return nearest;
}

bool nics_are_near(const Topology& topology, const std::vector<TopologyNic>& nics) {
  const std::size_t gpus = topology.gpus.size();
  const std::size_t slots = std::min(nics.size(), gpus);
  if (slots == 0) return true;
  // near[s]: the NICs that are among the nearest ones of every GPU of slot s.
  std::vector<std::optional<std::set<std::size_t>>> near(slots);
  for (std::size_t g = 0; g < gpus; ++g) {
    const std::vector<std::size_t> nearest = nearest_nics(topology.gpus[g], nics);
    std::optional<std::set<std::size_t>>& of_slot = near[g * slots / gpus];
    if (!of_slot) of_slot.emplace(nearest.begin(), nearest.end());
    std::erase_if(*of_slot,
                  [&](std::size_t n) { return std::find(nearest.begin(), nearest.end(), n) == nearest.end(); });
  }
  // The vertices are the slots, followed by the NICs.
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(slots + nics.size());
  for (std::size_t s = 0; s < slots; ++s) {
    for (const std::size_t n : *near[s]) add_edge(s, slots + n, graph);
  }
  std::vector<std::size_t> mate(num_vertices(graph));
  boost::edmonds_maximum_cardinality_matching(graph, mate.data());
  return boost::matching_size(graph, mate.data()) == slots;
}

}  // namespace moire::importing
