// Computes the orders in which rings pass through the ranks.
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

// Returns the GPUs of a node, ordered so that neighbours in the list use different NICs where possible. Channels take
// GPUs in this order, so that even a few channels use all NICs.
std::vector<Rank> gpus_by_nic(const machine::SystemSpec& system);

// Returns the rings of the channels: channel c takes ring c modulo the number of rings. Behind a switch all rings
// perform alike, so there is one ring. In a full mesh a ring uses one link of each GPU, so there are as many rings as
// are needed to load all links equally, where such a set exists. With several nodes, each ring enters and leaves nodes
// at other GPUs than the other rings, so that all NICs are used. A ring leaves a node and enters the next one at the
// same GPU number (the same rail), so it passes every second node backwards. With `one_nic`, a ring passes no node
// backwards: it leaves a node through the NIC by which it entered the node (PXN).
std::vector<Ring> rings(const machine::SystemSpec& system, bool one_nic = false);

}  // namespace moire::collective
