// The orders in which rings pass through the ranks.
#pragma once

#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

struct Ring {
  std::vector<Rank> next;
  std::vector<Rank> previous;
  std::vector<Rank> position;  // of each rank in the ring; rank 0 is at 0
  std::vector<Rank> order;     // the rank at each position
};

// The GPUs of a node, ordered so that neighbours in the list use different NICs where possible: a few channels then use
// all NICs.
std::vector<Rank> gpus_by_nic(const machine::SystemSpec& system);

// The rings that channels take: channel c takes ring c modulo their number. Behind a switch all rings perform alike, so
// one is enough. In a full mesh a ring uses one link of each GPU, so there are as many as load all links equally, where
// such a set exists. Between nodes each ring enters and leaves nodes at other GPUs, so that all NICs are used. It
// enters a node at the GPU number at which it left the previous one (the same rail), so it passes every second node
// backwards. With `one_nic` it passes none backwards: what leaves a node goes through the NIC by which the ring enters
// it (PXN).
std::vector<Ring> rings(const machine::SystemSpec& system, bool one_nic = false);

}  // namespace moire::collective
