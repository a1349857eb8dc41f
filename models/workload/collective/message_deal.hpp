// Computes how a library deals messages between pairs of ranks to channels: how many channels share a message, and
// which channels they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// The schedule of messages between pairs of ranks: for each turn, the rank to send to and the rank to receive from.
// Ranks form groups that do not cross nodes. A rank serves its own group first, then the groups that are 1, 3, 6, 10,
// ... groups ahead of its own. These numbers are taken modulo the smallest power of two that is not below the number of
// groups, and numbers without a group are left out. So distant groups meet early. Within each group, a rank begins with
// the member at its own position. If a sends to b in a turn, b receives from a in the same turn. In turn 0 a rank
// handles its own share. Source: ncclP2pSchedule in NCCL's src/init.cc.
class Turns {
 public:
  // All ranks are one group: in turn k rank r sends to r + k and receives from r - k.
  explicit Turns(std::uint32_t ranks) : Turns(ranks, ranks) {}
  Turns(std::uint32_t ranks, std::uint32_t group);
  // Returns the schedule of a library whose channels serve `peers_at_once` peers side by side, on nodes of `gpus` GPUs.
  static Turns of(std::uint32_t ranks, std::uint32_t gpus, std::uint32_t peers_at_once);

  std::uint32_t to(std::uint32_t rank, std::uint32_t turn) const { return other(rank, turn, false); }
  std::uint32_t from(std::uint32_t rank, std::uint32_t turn) const { return other(rank, turn, true); }
  std::uint32_t ranks() const { return group_ * static_cast<std::uint32_t>(order_.size()); }
  std::uint32_t group() const { return group_; }
  // Returns how many groups ahead of the rank's own group the receiver's group is.
  std::uint32_t groups_ahead(std::uint32_t turn) const { return order_[turn / group_]; }

 private:
  std::uint32_t other(std::uint32_t rank, std::uint32_t turn, bool backwards) const;

  std::uint32_t group_;
  std::vector<std::uint32_t> order_;
};

// A channel's work in one turn: a share of the message to the turn's receiver, and the same share of the message from
// the turn's sender.
struct Turn {
  std::uint32_t turn = 0;
  std::uint32_t share = 0;  // number of the share within the message
  double bytes = 0;
};

// The turns that a channel serves side by side.
using Batch = std::vector<Turn>;

struct MessageDeal {
  std::uint32_t channels = 0;  // channels of the library; the kernel has workgroups only for those with work
  bool low_latency = false;
  double slot = 0;                                // bytes of data in one slot of a FIFO within a node
  double network_slot = 0;                        // the same for a FIFO to or from a rank of another node
  std::uint32_t shares = 0;                       // number of shares of a message to a peer
  std::uint32_t own_shares = 0;                   // number of shares of the rank's own data (turn 0)
  double largest_share = 0;                       // bytes of the largest share of a message to a peer
  std::vector<std::vector<Batch>> work;           // by workgroup; channels without work have no workgroup
  std::vector<std::uint32_t> turns_side_by_side;  // the different sizes of batches, ascending
};

// A rank's access to the network; absent if all ranks are in one node.
struct RankNetwork {
  double bandwidth = 0;  // bytes/s of the rank's share of its node's NICs
  double nics = 1;       // NICs per GPU of the node; may be a fraction
};

// Deals one message of `bytes` for each turn in `numbers` to the library's channels. The turns in `numbers` ascend.
MessageDeal deal_messages(const libraries::LibrarySpec& library, const Turns& turns,
                          const std::vector<std::uint32_t>& numbers, const std::optional<RankNetwork>& network,
                          double bytes);

// Returns the bytes of share number `share` of a message of `bytes`, which is divided into `shares` shares. Shares are
// whole blocks of 4 KiB; the last shares may be smaller or empty.
double share_bytes(double bytes, std::uint32_t shares, std::uint32_t share);

}  // namespace moire::collective
