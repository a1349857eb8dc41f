// How a library deals messages between pairs of ranks to channels: how many share a message, and which.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// Who meets whom in which turn. Ranks stand in groups, which do not cross nodes; a rank meets its own group first, then
// the groups behind it in the order 0, 1, 3, 6, 10, ... (so that those who are far apart soon meet), each from its own
// place in the group on. What a rank sends in a turn the other one receives in the same turn; turn 0 is its own share.
class Turns {
 public:
  // Behind each other: turn k is r + k and r - k.
  explicit Turns(std::uint32_t ranks) : Turns(ranks, ranks) {}
  Turns(std::uint32_t ranks, std::uint32_t group);
  // Of a library that serves so many peers side by side, on nodes of so many GPUs.
  static Turns of(std::uint32_t ranks, std::uint32_t gpus, std::uint32_t peers_at_once);

  std::uint32_t to(std::uint32_t rank, std::uint32_t turn) const { return other(rank, turn, false); }
  std::uint32_t from(std::uint32_t rank, std::uint32_t turn) const { return other(rank, turn, true); }
  std::uint32_t ranks() const { return group_ * static_cast<std::uint32_t>(order_.size()); }
  std::uint32_t group() const { return group_; }
  // Groups from the rank's own to the one that it sends to.
  std::uint32_t groups_ahead(std::uint32_t turn) const { return order_[turn / group_]; }

 private:
  std::uint32_t other(std::uint32_t rank, std::uint32_t turn, bool backwards) const;

  std::uint32_t group_;
  std::vector<std::uint32_t> order_;
};

// A message of a rank to a peer, and the one that comes from the opposite peer.
struct Turn {
  std::uint32_t turn = 0;
  std::uint32_t share = 0;  // which share of it
  double bytes = 0;
};

// What one channel does in one batch: these turns side by side.
using Batch = std::vector<Turn>;

struct MessageDeal {
  std::uint32_t channels = 0;  // of the library; those without work are not launched
  bool low_latency = false;
  double slot = 0;           // bytes of data
  double network_slot = 0;   // the same to a rank of another node
  std::uint32_t shares = 0;  // of a message to a peer
  std::uint32_t own_shares = 0;
  double largest_share = 0;                       // bytes, of a message to a peer
  std::vector<std::vector<Batch>> work;           // by workgroup: channels that have work
  std::vector<std::uint32_t> turns_side_by_side;  // the sizes that batches have
};

// The network that a rank has; without it all ranks are of one node.
struct RankNetwork {
  double bandwidth = 0;  // of its NICs
  double nics = 1;       // that it has for itself
};

// A message of `bytes` in each of `numbers`, ascending.
MessageDeal deal_messages(const libraries::LibrarySpec& library, const Turns& turns,
                          const std::vector<std::uint32_t>& numbers, const std::optional<RankNetwork>& network,
                          double bytes);

// Whole blocks: the shares of a message, the last ones smaller or empty.
double share_bytes(double bytes, std::uint32_t shares, std::uint32_t share);

}  // namespace moire::collective
