// In which order rings pass through the ranks.
#pragma once

#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

struct Ring {
  std::vector<Rank> next;
  std::vector<Rank> previous;
  std::vector<Rank> position;  // of a rank; rank 0 has 0
  std::vector<Rank> order;     // the rank at a position
};

// The GPUs of a node so that neighbours in the list have NICs of their own, as far as there are some: few channels use
// all NICs.
std::vector<Rank> gpus_by_nic(const machine::SystemSpec& system);

// A ring a channel may take, channel c the (c modulo size)-th. Behind a switch all rings are alike and one is enough.
// In a full mesh a ring uses one link of a GPU, so there are as many as it takes to use all links alike (where that can
// be done). Between nodes each ring enters and leaves a node at other GPUs, so that all NICs are used; every second
// node is passed backwards: it is entered at the GPU with the number at which the node before was left (the same rail).
// `one_nic`: none is; what leaves a node goes through the NIC by which the ring enters it (PXN).
std::vector<Ring> rings(const machine::SystemSpec& system, bool one_nic = false);

}  // namespace moire::collective
