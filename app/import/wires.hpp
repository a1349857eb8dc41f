// What the links of a dump connect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/import/nccl_topology.hpp"

namespace moire::importing {

enum class Shape {
  none,       // no link between GPUs
  to_switch,  // every GPU to a switch
  mesh,       // the same number of links between every two GPUs
  uneven,     // links between every two GPUs, not equally many
  partial,    // links between some pairs only
  mixed,      // some GPUs to a switch, some not
};

struct Wires {
  Shape shape = Shape::none;
  LinkKind kind = LinkKind::nvlink;              // of the first link
  std::vector<std::int64_t> links;               // of each GPU, to a switch or to peers
  std::vector<std::vector<std::int64_t>> pairs;  // between GPUs
  std::size_t switches = 0;                      // that the dump names; virtual machines name one
  std::int64_t to_itself = 0;                    // links that end where they start
  std::int64_t to_cpu = 0;                       // NVLink and C2C to host processors
  std::int64_t astray = 0;                       // to what the dump does not hold
  bool one_sided = false;                        // a to b are not as many as b to a

  std::int64_t fewest() const;  // links of a GPU; of a pair where it is a mesh
  std::int64_t most() const;
  std::size_t linked_pairs() const;
};

Wires wires_of(const Topology& topology);

// Whether the k-th of equally shared NICs can be one that none is nearer to, for the GPUs that Moire gives it to.
bool nics_are_near(const Topology& topology, const std::vector<TopologyNic>& nics);
// The NICs that no NIC is nearer to `gpu` than, by index.
std::vector<std::size_t> nearest_nics(const TopologyGpu& gpu, const std::vector<TopologyNic>& nics);

}  // namespace moire::importing
