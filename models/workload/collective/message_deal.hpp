// How a library deals messages between pairs of ranks to channels: how many share a message, and which.
#pragma once

#include <cstdint>
#include <vector>

#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

// One message of a rank to a peer, and the one that comes from the opposite peer: in turn k rank r sends to r + k and
// receives from r - k; turn 0 is its own share.
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
  std::uint32_t shares = 0;  // of a message to a peer
  std::uint32_t own_shares = 0;
  double largest_share = 0;                       // bytes, of a message to a peer
  std::vector<std::vector<Batch>> work;           // by workgroup: channels that have work
  std::vector<std::uint32_t> turns_side_by_side;  // the sizes that batches have
};

// A message of `bytes` in each of the turns, ascending.
MessageDeal deal_messages(const libraries::LibrarySpec& library, std::uint32_t ranks,
                          const std::vector<std::uint32_t>& turns, bool several_nodes, double bytes);

// Whole blocks: the shares of a message, the last ones smaller or empty.
double share_bytes(double bytes, std::uint32_t shares, std::uint32_t share);

}  // namespace moire::collective
