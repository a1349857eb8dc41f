#include "models/workload/collective/message_deal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

namespace moire::collective {

namespace {

constexpr double share_alignment = 4096;  // bytes; NCCL: ncclP2pPartBounds

std::uint32_t reverse_bits(std::uint32_t value, std::uint32_t bits) {
  std::uint32_t reversed = 0;
  for (std::uint32_t bit = 0; bit < bits; ++bit) reversed |= (value >> bit & 1U) << (bits - 1 - bit);
  return reversed;
}

// Returns the largest number of channels for a peer, a power of two. In one node, or without channel_rate, it is the
// profile's channels_per_peer, rounded up. With several nodes it is at least as many as saturate the NICs of a rank,
// but halved until the library's `channels` suffice for all peers, of which `at_once` share a channel.
std::uint32_t channels_of_peer(const libraries::MessageSpec& message, const std::optional<RankNetwork>& network,
                               std::uint32_t ranks, std::uint32_t at_once, std::uint32_t channels) {
  double wanted = static_cast<double>(message.channels_per_peer);
  if (!network || !message.channel_rate) return std::bit_ceil(static_cast<std::uint32_t>(wanted));
  wanted = std::max({wanted, network->nics, std::ceil(network->bandwidth / message.channel_rate->value)});
  std::uint32_t most = std::bit_ceil(static_cast<std::uint32_t>(std::min(wanted, 1024.0)));
  while (most > 1 && std::uint64_t{most} * ((ranks + at_once - 1) / at_once) > channels) most /= 2;
  return most;
}

// Returns the number of shares of a message: `usual`, or fewer so that no share is below `smallest`. The number is then
// doubled, up to `most`, while shares are above `largest`.
std::uint32_t shares_of(double bytes, std::uint32_t usual, std::uint32_t most, double smallest, double largest) {
  const double wanted = std::ceil(bytes / smallest);
  std::uint32_t shares = wanted < usual ? static_cast<std::uint32_t>(wanted) : usual;
  while (bytes / shares > largest && shares <= most / 2) shares *= 2;
  return shares;
}

}  // namespace

Turns::Turns(std::uint32_t ranks, std::uint32_t group) : group_(group) {
  // The triangular numbers x (x + 1) / 2 modulo a power of two visit every number once, so every group occurs once in
  // the order.
  const std::uint32_t groups = ranks / group;
  const std::uint32_t power = std::bit_ceil(groups);
  for (std::uint32_t round = 0, ahead = 0; round < power; ++round, ahead = (ahead + round) & (power - 1)) {
    if (ahead < groups) order_.push_back(ahead);
  }
}

Turns Turns::of(std::uint32_t ranks, std::uint32_t gpus, std::uint32_t peers_at_once) {
  if (ranks == gpus) return Turns(ranks);
  return {ranks, gpus % peers_at_once == 0 ? peers_at_once : std::gcd(gpus, peers_at_once)};
}

std::uint32_t Turns::other(std::uint32_t rank, std::uint32_t turn, bool backwards) const {
  const auto behind = [backwards](std::uint32_t at, std::uint32_t steps, std::uint32_t size) {
    return (at + (backwards ? size - steps : steps)) % size;
  };
  const auto groups = static_cast<std::uint32_t>(order_.size());
  return behind(rank / group_, groups_ahead(turn), groups) * group_ + behind(rank % group_, turn % group_, group_);
}

double share_bytes(double bytes, std::uint32_t shares, std::uint32_t share) {
  const double whole = std::ceil(std::ceil(bytes / shares) / share_alignment) * share_alignment;
  return std::clamp(bytes - share * whole, 0.0, whole);
}

MessageDeal deal_messages(const libraries::LibrarySpec& library, const Turns& turns,
                          const std::vector<std::uint32_t>& numbers, const std::optional<RankNetwork>& network,
                          double bytes_of_message) {
  const bool cut_for_network = network && library.network;
  const libraries::MessageSpec& message = cut_for_network ? *library.network : library.node;
  const std::uint32_t ranks = turns.ranks();
  const auto at_once = static_cast<std::uint32_t>(library.peers_at_once);
  MessageDeal deal;
  deal.channels = std::bit_ceil(static_cast<std::uint32_t>(library.max_channels));
  const std::uint32_t most = std::min(channels_of_peer(message, network, ranks, at_once, deal.channels), deal.channels);
  std::uint32_t usual = most;
  while (usual > 1 && std::uint64_t{usual} * ranks > deal.channels) usual /= 2;
  // NCCL's connections between nodes have no buffers for the low-latency protocol. The model simplifies: if the library
  // has separate message sizes for several nodes, and there are several nodes, no connection uses that protocol, not
  // even within a node.
  deal.low_latency =
      library.low_latency && !cut_for_network && bytes_of_message <= most * library.low_latency->threshold.value;
  deal.own_shares = shares_of(bytes_of_message, usual, most, message.smallest_share.value, message.largest_share.value);
  if (deal.low_latency) {
    deal.slot = library.low_latency->slot.value;
    deal.shares = shares_of(bytes_of_message, usual, most, library.low_latency->smallest_share.value,
                            library.low_latency->largest_share.value);
  } else {
    deal.slot = message.slot.value;
    deal.shares = deal.own_shares;
  }
  // Small messages use smaller slots, so that the network starts sooner.
  deal.network_slot = deal.slot;
  if (cut_for_network) deal.network_slot /= bytes_of_message < deal.slot ? 4 : bytes_of_message < 8 * deal.slot ? 2 : 1;
  deal.largest_share = share_bytes(bytes_of_message, deal.shares, 0);

  // Reversed bits put the first channels of the turns as far apart as possible. With several nodes a peer has few
  // channels, so the turns of a group that are served side by side share their channels. NCCL:
  // ncclP2pChannelBaseForRound in src/include/channel.h.
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(deal.channels));
  std::vector<std::vector<Batch>> by_channel(deal.channels);
  std::vector<std::uint32_t> epoch(deal.channels, 0);
  const std::uint32_t batches_of_group = (turns.group() + at_once - 1) / at_once;
  for (const std::uint32_t turn : numbers) {
    const std::uint32_t base =
        network ? turns.groups_ahead(turn) * batches_of_group + turn % turns.group() / at_once : turn;
    const std::uint32_t first = reverse_bits(base, bits) % deal.channels;
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
