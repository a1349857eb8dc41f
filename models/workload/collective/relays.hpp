// Finds the relays of PXN (NCCL's name for sending through another GPU's NIC). A rank stores its data for a rank of
// another node at a relay: a GPU of its own node that is on the receiver's rail. The relay's NIC then sends the data.
// The store over the links of the node costs less than a message that crosses rails in the fabric.
#pragma once

#include "models/hardware/machine/spec.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

class Relays {
 public:
  Relays() = default;  // without relays
  // There are no relays if the library has no PXN, if the GPUs of a node have no direct links to each other, or if the
  // node has no NICs.
  Relays(const libraries::LibrarySpec& library, const machine::NodeSpec& node);

  bool any() const { return gpus_ > 1; }
  // Returns the relay through which `from` sends a message to `to`: the first GPU of the sender's node whose NIC has
  // the same number as the receiver's NIC. Returns no_rank if the sender is this GPU, if both ranks are in one node, or
  // if there are no relays. A sender that only shares the relay's NIC also stores to the relay, because NCCL gathers
  // all messages of a NIC at one GPU.
  Rank of_message(Rank from, Rank to) const;
  // Returns the same for a channel of a collective, with one exception: it returns no_rank if the sender's NIC has the
  // same number as the receiver's NIC.
  Rank of_channel(Rank from, Rank to) const;

 private:
  Rank nic_of(Rank rank) const { return rank % gpus_ * nics_ / gpus_; }

  Rank gpus_ = 0;  // of a node
  Rank nics_ = 0;  // of a node
};

}  // namespace moire::collective
