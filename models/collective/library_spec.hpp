// How a collective library (RCCL, NCCL) runs a collective as a kernel: a profile with sources, configs/libraries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::models::collective {

// How a message to one peer is cut: over channels, then into slots of the FIFO.
struct MessageSpec {
  std::int64_t channels_per_peer = 1;  // at most
  Bytes slot;                          // one step of the FIFO between two ranks
  Bytes smallest_share;                // of a channel: fewer channels rather than smaller shares
  Bytes largest_share;                 // of a channel: more channels rather than larger shares
  static void describe(config::Describer<MessageSpec>& d);
};

// Small messages: data and flags in one store, so that the receiver needs no other word that they are there.
struct LowLatencySpec {
  Bytes threshold;  // largest message that goes this way, for each channel a peer may have
  Bytes slot;       // of data; twice as many bytes travel
  Bytes smallest_share;
  Bytes largest_share;
  Bytes bytes_in_flight;  // of data, of a channel's workgroup
  Time step_overhead;
  static void describe(config::Describer<LowLatencySpec>& d);
};

struct LibrarySpec {
  std::string name;
  std::int64_t max_channels = 0;   // workgroups of the kernel
  std::int64_t peers_at_once = 1;  // that one channel serves side by side
  std::int64_t threads = 0;        // of a channel's workgroup
  std::int64_t registers_per_thread = 0;
  std::int64_t slots = 0;  // of a FIFO
  Bytes bytes_in_flight;   // of a channel's workgroup, all its threads
  Time setup;              // in the kernel before the first step: work description, connection state
  Time step_overhead;      // per slot, of sender and receiver: poll, barriers, fence, flag
  double copy_cost = 1;    // of its copying loops' bytes to the CU over that of plain loops
  double link_cost = 1;    // of a byte to a peer over that of lone contiguous stores: senders collide at receivers
  bool staged = true;      // through a FIFO in the receiver's memory, then copied to the user buffer
  MessageSpec node;        // in a system of one node
  std::optional<MessageSpec> network;  // with several nodes
  std::optional<LowLatencySpec> low_latency;
  static void describe(config::Describer<LibrarySpec>& d);
};

}  // namespace moire::models::collective
