// PXN: through whose NIC a rank sends to a rank of another node. Stores over the links of the node cost less than
// crossing rails in the fabric.
#pragma once

#include "models/hardware/machine/spec.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

class Relays {
 public:
  Relays() = default;  // nobody
  // None where the library has no PXN, or where the GPUs of the node have no direct links to each other.
  Relays(const libraries::LibrarySpec& library, const machine::NodeSpec& node);

  bool any() const { return gpus_ > 1; }
  // The first GPU of the sender's node among those whose NIC has the number of the receiver's, or no_rank where that is
  // the sender. Messages between pairs go there even where the sender has that NIC as well: the library gathers what
  // goes through a NIC at one GPU.
  Rank of_message(Rank from, Rank to) const;
  // The same, but a sender that has that NIC uses it.
  Rank of_channel(Rank from, Rank to) const;

 private:
  Rank nic_of(Rank rank) const { return rank % gpus_ * nics_ / gpus_; }

  Rank gpus_ = 0;  // of a node
  Rank nics_ = 0;
};

}  // namespace moire::collective
