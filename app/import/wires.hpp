// Determines what the links of a dump connect.
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
  std::vector<std::int64_t> links;               // by GPU: number of links to a switch and to peers
  std::vector<std::vector<std::int64_t>> pairs;  // [a][b]: number of links to GPU b that GPU a has in the dump
  std::size_t switches = 0;                      // different switches in the dump; virtual machines report one
  std::int64_t to_itself = 0;                    // links that end at their own GPU
  std::int64_t to_cpu = 0;                       // NVLink and C2C links to CPUs
  std::int64_t astray = 0;                       // links to a device that is not in the dump
  bool one_sided = false;                        // true if a pair has other numbers of links at its two ends

  std::int64_t fewest() const;  // links of the GPU with fewest, if there is a switch; else of the pair with fewest
  std::int64_t most() const;    // likewise, for the GPU or the pair with most
  std::size_t linked_pairs() const;
};

Wires wires_of(const Topology& topology);

// True if NICs can be assigned to the GPUs as Moire does it (GPU g of n shares slot g * slots / n, and each slot has
// its own NIC) such that every GPU gets one of its nearest NICs.
bool nics_are_near(const Topology& topology, const std::vector<TopologyNic>& nics);
// Indices of the NICs that are nearest to `gpu`.
std::vector<std::size_t> nearest_nics(const TopologyGpu& gpu, const std::vector<TopologyNic>& nics);

}  // namespace moire::importing
