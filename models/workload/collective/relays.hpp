// Finds the relays of PXN. A rank sends to a rank of another node through the NIC of a relay, a GPU of its own node
// that is on the receiver's rail. A store to the relay over the links of the node costs less than to cross rails in the
// fabric.
#pragma once

#include "models/hardware/machine/spec.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

class Relays {
 public:
  Relays() = default;  // without relays
  // There are no relays if the library has no PXN or if the GPUs of a node have no direct links to each other.
  Relays(const libraries::LibrarySpec& library, const machine::NodeSpec& node);

  bool any() const { return gpus_ > 1; }
  // Returns the relay through which `from` sends a message to `to`: the first GPU of the sender's node whose NIC has
  // the same number as the receiver's NIC. Returns no_rank if the sender is this GPU, or if both ranks are in one node.
  // A sender that only shares the relay's NIC also stores to the relay, because NCCL gathers all messages of a NIC at
  // one GPU.
  Rank of_message(Rank from, Rank to) const;
  // Returns the same for a channel of a collective, except that a sender whose NIC has this number needs no relay.
  Rank of_channel(Rank from, Rank to) const;

 private:
  Rank nic_of(Rank rank) const { return rank % gpus_ * nics_ / gpus_; }

  Rank gpus_ = 0;  // of a node
  Rank nics_ = 0;
};

}  // namespace moire::collective
