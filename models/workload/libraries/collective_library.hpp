// How a collective library (RCCL, NCCL) runs a collective as a kernel: a profile with sources, configs/libraries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::libraries {

// How a message to one peer is cut: over channels, then into slots of the FIFO.
struct MessageSpec {
  std::int64_t channels_per_peer = 1;  // at most
  Bytes slot;                          // one step of the FIFO between two ranks
  Bytes smallest_share;                // of a channel: fewer channels rather than smaller shares
  Bytes largest_share;                 // of a channel: more channels rather than larger shares
  // Between nodes: more channels for a peer where a NIC is faster than so many at this rate.
  std::optional<BytesPerSecond> channel_rate{};
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

// What a library expects of an algorithm with a protocol; of all that it may choose it takes what it expects to end
// first: start + hops x hop + bytes / rate.
struct ExpectationSpec {
  Time start;
  Time hop;                                    // to the next GPU of the node
  Time network_hop;                            // to another node
  double port_share = 1;                       // of the GPU's port, what the algorithm keeps busy
  std::optional<BytesPerSecond> at_most{};     // rate on the port
  std::vector<BytesPerSecond> ring_at_most{};  // of each ring (two channels), with 1 node, with 2, ...
  // Where there are several nodes.
  std::optional<Time> hop_in_node{};              // in place of `hop`
  double latency_factor = 1;                      // of start and hops of an all-reduce
  std::optional<double> network_share{};          // in place of port_share: of all NICs of a node together
  std::vector<BytesPerSecond> network_at_most{};  // with 2 nodes, with 3, ...; the last one counts for all more
  // Of an all-reduce of up to 64 B, 128 B, 256 B, ...: what is left of the rate. Beyond the last one all of it.
  std::vector<double> size_factors{};
  static void describe(config::Describer<ExpectationSpec>& d);
};

// Chunks of trees, which are halved while a channel has few of them, so that all levels of a tree work at once.
struct TreeChunkSpec {
  Bytes most;
  std::int64_t slots = 1;  // chunks that a FIFO holds
  // Halved down to `some` where there are fewer than `many` for each level of the tree over the GPUs of a node, then
  // down to `least` where there are fewer than `few`.
  std::optional<Bytes> some{}, least{};
  double many = 0, few = 0;
  static void describe(config::Describer<TreeChunkSpec>& d);
};

// How a channel moves data: chunks, cut into slices, each in a slot of the FIFO between two ranks.
struct ProtocolSpec {
  std::int64_t threads = 0;                   // of a channel's workgroup
  Bytes chunk;                                // of data, in one step of an algorithm
  std::int64_t slices = 1;                    // of a chunk
  Bytes smallest_slice;                       // a small chunk is cut into fewer
  std::optional<TreeChunkSpec> tree_chunk{};  // in place of chunk, slices and slots
  std::int64_t slots = 1;                     // slices that a FIFO holds
  double wire = 1;                            // bytes that travel for one of data
  // Data and flags share lines: the receiver sees every line as it comes. Else a flag follows each slice.
  bool lines = false;
  Bytes bytes_in_flight;   // of data, of a channel's workgroup
  Time batch_pause{};      // of lines: between the loads of one batch and the next, beside what the memory takes
  Time step_overhead;      // per slice: poll, barriers, fence, flag
  Time posting{};          // per slice: fence and flag, beside which the workgroup goes on
  Time empty_slice{};      // of a slice without data, which small chunks have: poll, barrier, flag
  double step_spread = 0;  // of it: it varies by so much up and down from slice to slice
  // Of the collective's bytes a channel has at least so many: fewer channels rather than smaller shares.
  Bytes smallest_share{};
  Bytes smallest_share_per_rank{};
  Bytes cell;  // shares are whole numbers of what makes this much traffic
  std::optional<ExpectationSpec> ring, tree, direct, recursive;  // those that it may choose by itself
  static void describe(config::Describer<ProtocolSpec>& d);
};

// Channels where there are several nodes: as many rings as the NICs of a node carry, two channels for each.
struct NetworkRingsSpec {
  BytesPerSecond rate;          // the most of a NIC that one ring gets
  BytesPerSecond doubled_from;  // few rings on NICs from this rate on are doubled
  std::int64_t few = 0;
  // With PXN, of a GPU's port what all rings may take that leave a node by the NIC by which they enter it.
  double port_share = 0;
  static void describe(config::Describer<NetworkRingsSpec>& d);
};

// Sums and copies by the switch of a node (NVLS): of a channel's threads some copy to buffers that the switch sums,
// some load the sums and store them to all GPUs, some copy to the output.
struct NvlsSpec {
  std::int64_t channels = 0;  // workgroups, at most
  std::int64_t threads = 0;   // of a workgroup
  std::int64_t scatter_threads = 0, reduce_threads = 0, gather_threads = 0;
  Bytes chunk;                                 // of a rank's part, that a channel moves in one step
  Bytes smallest_chunk;                        // halved down to it while a channel has few of them
  std::int64_t slots = 0;                      // chunks that the buffers hold
  Bytes bytes_in_flight;                       // of a thread
  std::int64_t least_ranks = 2;                // the library takes it by itself from so many ranks on
  std::optional<ExpectationSpec> expectation;  // of all-reduces; absent: it never takes it by itself
  static void describe(config::Describer<NvlsSpec>& d);
};

// Kernels in which a channel walks through the steps of an algorithm.
struct ChannelsSpec {
  std::int64_t channels = 0;                  // workgroups, at most
  std::optional<NetworkRingsSpec> network{};  // with several nodes; absent: as with one
  Time setup;
  double copy_cost = 1;
  double link_cost = 1;
  Time local_overhead{};  // of a copy or sum within the GPU
  Time order_overhead{};  // where channels of a GPU wait for each other, of each of both
  ProtocolSpec simple;
  std::optional<ProtocolSpec> ll, ll128;
  std::optional<NvlsSpec> nvls;
  static void describe(config::Describer<ChannelsSpec>& d);
};

struct LibrarySpec {
  std::string name;
  std::int64_t max_channels = 0;   // workgroups of the kernel
  std::int64_t peers_at_once = 1;  // that one channel serves side by side
  std::int64_t threads = 0;        // of a channel's workgroup
  std::int64_t registers_per_thread = 0;
  Bytes lds{};               // of a workgroup
  std::int64_t cluster = 1;  // workgroups placed together, where the grid divides by it
  std::int64_t slots = 0;    // of a FIFO
  Bytes bytes_in_flight;     // of a channel's workgroup, all its threads
  Time setup;                // in the kernel before the first step: work description, connection state
  Time step_overhead;        // per slot, of sender and receiver: poll, barriers, fence, flag
  double copy_cost = 1;      // of its copying loops' bytes to the CU over that of plain loops
  double link_cost = 1;      // of a byte to a peer over that of lone contiguous stores: senders collide at receivers
  bool pxn = false;          // what goes to another rail goes through a GPU of the node that is on it
  bool staged = true;        // through a FIFO in the receiver's memory, then copied to the user buffer
  MessageSpec node;          // in a system of one node
  std::optional<MessageSpec> network;  // with several nodes
  std::optional<LowLatencySpec> low_latency;
  std::optional<ChannelsSpec> channels;  // all collectives but messages between pairs
  static void describe(config::Describer<LibrarySpec>& d);
};

}  // namespace moire::libraries
