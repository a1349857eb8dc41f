// PXN: the GPU through whose NIC a rank sends to a rank of another node. Storing to that GPU over the links of the node
// costs less than crossing rails in the fabric.
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
  // The GPU through which `from` sends a message to `to`: the first GPU of the sender's node whose NIC has the same
  // number as the receiver's. no_rank if that is the sender, or if both are in one node. A sender that shares this NIC
  // stores to that GPU all the same: NCCL gathers all messages of a NIC at one GPU.
  Rank of_message(Rank from, Rank to) const;
  // The same for a channel of a collective, except that a sender which has that NIC sends by itself.
  Rank of_channel(Rank from, Rank to) const;

 private:
  Rank nic_of(Rank rank) const { return rank % gpus_ * nics_ / gpus_; }

  Rank gpus_ = 0;  // of a node
  Rank nics_ = 0;
};

}  // namespace moire::collective
