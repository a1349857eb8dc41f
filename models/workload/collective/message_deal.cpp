#include "models/workload/collective/message_deal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace moire::collective {

namespace {

constexpr double share_alignment = 4096;  // bytes

std::uint32_t reverse_bits(std::uint32_t value, std::uint32_t bits) {
  std::uint32_t reversed = 0;
  for (std::uint32_t bit = 0; bit < bits; ++bit) reversed |= (value >> bit & 1U) << (bits - 1 - bit);
  return reversed;
}

// Few channels as long as every peer gets some side by side, more only for messages of very large shares.
std::uint32_t shares_of(double bytes, std::uint32_t usual, std::uint32_t most, double smallest, double largest) {
  const double wanted = std::ceil(bytes / smallest);
  std::uint32_t shares = wanted < usual ? static_cast<std::uint32_t>(wanted) : usual;
  while (bytes / shares > largest && shares <= most / 2) shares *= 2;
  return shares;
}

}  // namespace

double share_bytes(double bytes, std::uint32_t shares, std::uint32_t share) {
  const double whole = std::ceil(std::ceil(bytes / shares) / share_alignment) * share_alignment;
  return std::clamp(bytes - share * whole, 0.0, whole);
}

MessageDeal deal_messages(const libraries::LibrarySpec& library, std::uint32_t ranks,
                          const std::vector<std::uint32_t>& turns, bool several_nodes, double bytes_of_message) {
  const libraries::MessageSpec& message = several_nodes && library.network ? *library.network : library.node;
  MessageDeal deal;
  deal.channels = std::bit_ceil(static_cast<std::uint32_t>(library.max_channels));
  const std::uint32_t most =
      std::min(std::bit_ceil(static_cast<std::uint32_t>(message.channels_per_peer)), deal.channels);
  std::uint32_t usual = most;
  while (usual > 1 && std::uint64_t{usual} * ranks > deal.channels) usual /= 2;
  deal.low_latency = library.low_latency && bytes_of_message <= most * library.low_latency->threshold.value;
  deal.own_shares = shares_of(bytes_of_message, usual, most, message.smallest_share.value, message.largest_share.value);
  if (deal.low_latency) {
    deal.slot = library.low_latency->slot.value;
    deal.shares = shares_of(bytes_of_message, usual, most, library.low_latency->smallest_share.value,
                            library.low_latency->largest_share.value);
  } else {
    deal.slot = message.slot.value;
    deal.shares = deal.own_shares;
  }
  deal.largest_share = share_bytes(bytes_of_message, deal.shares, 0);

  // The first channels of the turns are as far from each other as they can be; with several nodes, where a peer has few
  // channels, neighbouring turns share them.
  const auto at_once = static_cast<std::uint32_t>(library.peers_at_once);
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(deal.channels));
  std::vector<std::vector<Batch>> by_channel(deal.channels);
  std::vector<std::uint32_t> epoch(deal.channels, 0);
  for (const std::uint32_t turn : turns) {
    const std::uint32_t first = reverse_bits(several_nodes ? turn / at_once : turn, bits);
    const std::uint32_t shares = turn == 0 ? deal.own_shares : deal.shares;
    for (std::uint32_t share = 0; share < shares; ++share) {
      const double bytes = share_bytes(bytes_of_message, shares, share);
      if (bytes <= 0) continue;
      const std::uint32_t channel = (first + share) % deal.channels;
      std::vector<Batch>& batches = by_channel[channel];
      if (batches.empty() || batches.back().size() == at_once || epoch[channel] != turn / at_once) {
        batches.emplace_back();
        epoch[channel] = turn / at_once;
      }
      batches.back().push_back({turn, share, bytes});
    }
  }
  std::set<std::uint32_t> sizes;
  for (std::vector<Batch>& batches : by_channel) {
    if (batches.empty()) continue;
    for (const Batch& batch : batches) sizes.insert(static_cast<std::uint32_t>(batch.size()));
    deal.work.push_back(std::move(batches));
  }
  deal.turns_side_by_side.assign(sizes.begin(), sizes.end());
  return deal;
}

}  // namespace moire::collective
