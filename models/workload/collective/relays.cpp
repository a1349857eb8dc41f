#include "models/workload/collective/relays.hpp"

namespace moire::collective {

Relays::Relays(const libraries::LibrarySpec& library, const machine::NodeSpec& node) {
  const bool direct = node.wiring == link::Wiring::nvswitch || node.wiring == link::Wiring::full_mesh;
  if (!library.pxn || !direct || node.nics == 0) return;
  gpus_ = static_cast<Rank>(node.gpus);
  nics_ = static_cast<Rank>(node.nics);
}

Rank Relays::of_message(Rank from, Rank to) const {
  if (!any() || from / gpus_ == to / gpus_) return program::no_rank;
  const Rank first = (nic_of(to) * gpus_ + nics_ - 1) / nics_;  // the first GPU that has the NIC
  const Rank relay = from / gpus_ * gpus_ + first;
  return relay == from ? program::no_rank : relay;
}

Rank Relays::of_channel(Rank from, Rank to) const {
  return any() && nic_of(from) == nic_of(to) ? program::no_rank : of_message(from, to);
}

}  // namespace moire::collective
