// Determines which GPUs, switches and CPUs the links of a topology dump connect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/import/nccl_topology.hpp"

namespace moire::importing {

enum class Shape {
  none,       // no links between GPUs
  to_switch,  // every GPU is linked to a switch
  mesh,       // the same number of links between any two GPUs
  uneven,     // links between any two GPUs, in different numbers
  partial,    // links between some pairs only
  mixed,      // some GPUs are linked to a switch and others are not
};

struct Wires {
  Shape shape = Shape::none;
  LinkKind kind = LinkKind::nvlink;              // kind of the first link
  std::vector<std::int64_t> links;               // by GPU: number of links to switches and to other GPUs
  std::vector<std::vector<std::int64_t>> pairs;  // [a][b]: number of links to GPU b that GPU a has in the dump
  std::size_t switches = 0;                      // number of switches in the dump; virtual machines report one
  std::int64_t to_itself = 0;                    // links that end at the GPU where they begin
  std::int64_t to_cpu = 0;                       // NVLink and C2C links to CPUs
  std::int64_t astray = 0;                       // links to a device that is not in the dump
  bool one_sided = false;                        // true if two GPUs report different numbers of links to each other

  // Return the smallest and the largest number of links. With a switch these are links of one GPU; otherwise they are
  // links between two GPUs.
  std::int64_t fewest() const;
  std::int64_t most() const;
  std::size_t linked_pairs() const;  // number of pairs of GPUs with a link between them
};

Wires wires_of(const Topology& topology);

// True if Moire can assign NICs to GPUs such that every GPU gets one of its nearest NICs. Moire divides the n GPUs of a
// node into as many slots as there are NICs, but at most n: GPU g belongs to slot g * slots / n. The GPUs of a slot
// share a NIC, and each slot has a different NIC.
bool nics_are_near(const Topology& topology, const std::vector<TopologyNic>& nics);
// Returns the indices in `nics` of the NICs that are nearest to `gpu`: those with the longest common path in the PCI
// tree.
std::vector<std::size_t> nearest_nics(const TopologyGpu& gpu, const std::vector<TopologyNic>& nics);

}  // namespace moire::importing
