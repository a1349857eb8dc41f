// The profile of a collective library (RCCL, NCCL) states how the library runs collectives as kernels. The values and
// their sources are in configs/libraries.
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

// How a message to one peer is divided: first among channels, then into slots of the FIFO between the two ranks.
struct MessageSpec {
  std::int64_t channels_per_peer = 1;  // largest number of channels that share the traffic with one peer
  Bytes slot;                          // size of one slot of the FIFO between two ranks
  Bytes smallest_share;                // bytes per channel: fewer channels are used rather than smaller shares
  Bytes largest_share;                 // bytes per channel: more channels are used rather than larger shares
  // Rate of one channel between nodes. If the NICs of a GPU are faster than channels_per_peer channels, a peer gets as
  // many channels as the NICs need.
  std::optional<BytesPerSecond> channel_rate{};
  static void describe(config::Describer<MessageSpec>& d);
};

// Protocol for small messages (LL): each store holds data and a flag, so the receiver needs no separate signal.
struct LowLatencySpec {
  Bytes threshold;  // largest message that uses this protocol, per channel that a peer may have
  Bytes slot;       // bytes of data; twice as many bytes travel
  Bytes smallest_share;
  Bytes largest_share;
  Bytes bytes_in_flight;  // bytes of data per workgroup
  // Bytes that a wavefront takes at a time. All wavefronts take the bytes that do not fill a turn together, after all
  // turns, and every such round takes a latency. With lines only for copies and sums within the GPU, because a receiver
  // handles lines as they come. 0: the time of the loop is in proportion to its bytes.
  Bytes turn{};
  Time step_overhead;
  static void describe(config::Describer<LowLatencySpec>& d);
};

// The library's own estimate of the time of an algorithm with a protocol: time = start + hops x hop + bytes / rate. The
// library chooses the algorithm and the protocol for which this time is shortest.
struct ExpectationSpec {
  Time start;
  Time hop;                                    // to the next GPU of the node
  Time network_hop;                            // to another node
  double port_share = 1;                       // share of the GPU's port that the algorithm uses
  std::optional<BytesPerSecond> at_most{};     // with one node: upper bound of the rate
  std::vector<BytesPerSecond> ring_at_most{};  // upper bound of the rate per ring (two channels) with 1 node, 2, ...
  // The next four values hold with several nodes:
  std::optional<Time> hop_in_node{};      // replaces `hop`
  double latency_factor = 1;              // multiplies start and hops of an all-reduce
  std::optional<double> network_share{};  // share of the NICs' bandwidth; absent: port_share
  // Upper bounds of the rate with 2 nodes, 3 nodes, and so on; the last entry holds for all larger numbers of nodes.
  std::vector<BytesPerSecond> network_at_most{};
  // Factors on the rate of an all-reduce smaller than 128 B, 256 B, 512 B, and so on. For larger sizes the factor is 1.
  std::vector<double> size_factors{};
  static void describe(config::Describer<ExpectationSpec>& d);
};

// Size of the chunks of trees. The size is halved while a channel has few chunks, so that all levels of a tree work at
// once.
struct TreeChunkSpec {
  Bytes most;              // largest chunk
  std::int64_t slots = 1;  // chunks that a FIFO holds
  // A chunk is halved, but not below `some`, while a channel has fewer than levels x many / (GPUs of a node) chunks.
  // Then it is halved, but not below `least`, while a channel has fewer than levels x few / (GPUs of a node) chunks.
  // levels = 1 + log2(nodes) + (GPUs of a node) / 10 (NCCL's calcCollChunking).
  std::optional<Bytes> some{}, least{};
  double many = 0, few = 0;
  static void describe(config::Describer<TreeChunkSpec>& d);
};

// How a channel moves data. Data move in chunks. A chunk is divided into slices, and a slice takes one slot of the FIFO
// between two ranks.
struct ProtocolSpec {
  std::int64_t threads = 0;                   // per workgroup (channel)
  Bytes chunk;                                // bytes of data in one step of an algorithm
  std::int64_t slices = 1;                    // per chunk
  Bytes smallest_slice;                       // a small chunk has fewer slices rather than smaller ones
  std::optional<TreeChunkSpec> tree_chunk{};  // for trees; replaces chunk, slices and slots
  std::int64_t slots = 1;                     // slices that a FIFO holds
  double wire = 1;                            // bytes that travel per byte of data
  // True: data are sent in lines. Each line holds data and a flag, so the receiver sees a line as soon as it arrives.
  // False: the sender raises a flag after each slice.
  bool lines = false;
  Bytes bytes_in_flight;  // bytes of data per workgroup
  // Without lines: bytes that a wavefront moves at a time. The bytes of a slice that do not fill a turn are moved after
  // all turns. 0: the time of a slice is in proportion to its bytes.
  Bytes turn{};
  Time batch_pause{};  // with lines: time between two batches of loads, in addition to the memory's time
  Time preparation{};  // per slice: what the workgroup does before it waits for the slice's data
  Time step_overhead;  // per slice: poll, barriers, fence, flag
  // Per slice: time of one thread's fence and flag beyond the GPU's fence for stores to a peer. The workgroup waits for
  // this thread only at the end of its next slice. Absent: step_overhead contains the fence and the flag.
  std::optional<Time> posting{};
  Time posting_beside{};   // per slice: by which `posting` is longer if the workgroup stores the step's next slice
  Time empty_slice{};      // per slice without data (in small chunks): poll, barrier, flag
  double step_spread = 0;  // relative variation of step_overhead from slice to slice, up and down
  // A channel gets at least this share of the bytes of a collective: smallest_share + smallest_share_per_rank x ranks
  // (trees: smallest_share + smallest_share_per_rank). A collective uses fewer channels rather than smaller shares.
  Bytes smallest_share{};
  Bytes smallest_share_per_rank{};
  Bytes cell;  // a channel's share is a multiple of the data that cause this many bytes of traffic
  std::optional<ExpectationSpec> ring, tree, direct, recursive;  // absent: the library never chooses it by itself
  static void describe(config::Describer<ProtocolSpec>& d);
};

// Number of channels with several nodes: as many rings as the NICs of a node can feed, with two channels each.
struct NetworkRingsSpec {
  BytesPerSecond rate;  // largest bandwidth of a NIC that one ring gets
  // If there are at most `few` rings and a NIC has at least the bandwidth `doubled_from`, the number of rings is
  // doubled.
  BytesPerSecond doubled_from;
  std::int64_t few = 0;
  // With PXN (see LibrarySpec::pxn), rings leave a node through the NIC by which they entered it. This holds if all
  // rings together take at most this share of the bandwidth of a GPU's port.
  double port_share = 0;
  static void describe(config::Describer<NetworkRingsSpec>& d);
};

// NVLS with several nodes. The threads that load the sums of a node (see NvlsSpec) also send them to other nodes. A
// fourth group of threads receives the total of all nodes and stores it to all GPUs of its own node.
struct NvlsBetweenSpec {
  std::int64_t scatter_threads = 0, reduce_threads = 0, broadcast_threads = 0, gather_threads = 0;
  Bytes chunk;                      // bytes of a part that a channel moves in one step
  std::optional<Bytes> deep_chunk;  // with 4 nodes or more, this replaces `chunk`
  Bytes smallest_chunk;             // size down to which the last entry of halved_below halves a chunk
  // Numbers of chunks, in falling order. The size of a chunk is halved once for each entry that is larger than the
  // number of chunks that a channel has of a part. The last entry halves it down to smallest_chunk, and every earlier
  // entry down to twice the limit of the next entry.
  std::vector<double> halved_below;
  static void describe(config::Describer<NvlsBetweenSpec>& d);
};

// The switch of a node sums and copies (NVLS). The threads of a channel form three groups. The first copies the input
// to buffers that the switch sums. The second loads the sums and stores them to all GPUs. The third copies from the
// buffers to the output.
struct NvlsSpec {
  std::int64_t channels = 0;  // largest number of channels (workgroups)
  std::int64_t threads = 0;   // of a workgroup
  std::int64_t scatter_threads = 0, reduce_threads = 0, gather_threads = 0;
  Bytes chunk;                                 // bytes of a rank's part that a channel moves in one step
  Bytes smallest_chunk;                        // while a channel has few chunks, they are halved down to this size
  std::int64_t slots = 0;                      // chunks that the buffers hold
  Bytes bytes_in_flight;                       // per thread
  std::int64_t least_ranks = 2;                // the library chooses NVLS by itself only with at least this many ranks
  std::optional<ExpectationSpec> expectation;  // of all-reduces; absent: the library never chooses NVLS by itself
  std::optional<NvlsBetweenSpec> tree, sharp;  // between nodes: by trees of GPUs, and by switches that sum
  static void describe(config::Describer<NvlsSpec>& d);
};

// Kernels in which each channel executes the steps of an algorithm.
struct ChannelsSpec {
  std::int64_t channels = 0;                  // largest number of channels (workgroups) of a kernel
  std::optional<NetworkRingsSpec> network{};  // with several nodes; absent: `channels`, as with one node
  Time setup;                                 // in the kernel before the first step
  Time connection_setup{};                    // that a channel with a connection takes in addition to `setup`
  std::int64_t first_send_loads = 0;  // loads from memory, one after the other, before a connection's first send
  double copy_cost = 1;               // as LibrarySpec::copy_cost
  double link_cost = 1;               // as LibrarySpec::link_cost
  Time local_overhead{};              // per copy or sum within the GPU
  Time order_overhead{};  // per wait of one channel of a GPU for another channel; each of the two takes this time
  ProtocolSpec simple;
  std::optional<ProtocolSpec> ll, ll128;
  std::optional<NvlsSpec> nvls;
  static void describe(config::Describer<ChannelsSpec>& d);
};

struct LibrarySpec {
  std::string name;
  std::int64_t max_channels = 0;   // workgroups of the kernel
  std::int64_t peers_at_once = 1;  // peers that one channel serves at the same time
  std::int64_t threads = 0;        // of a channel's workgroup
  std::int64_t registers_per_thread = 0;
  Bytes lds{};                         // per workgroup
  std::int64_t cluster = 1;            // workgroups placed together if the grid is divisible by it
  std::int64_t slots = 0;              // per FIFO
  Bytes bytes_in_flight;               // per workgroup (channel), all threads together
  Time setup;                          // in the kernel before the first step: work description, connection state
  Time cold_start{};                   // that setup takes longer where no kernel runs before it in its queue
  Time step_overhead;                  // per slot, of sender and receiver: poll, barriers, fence, flag
  double copy_cost = 1;                // CU time per byte of the library's copy loops / that of plain loops
  double link_cost = 1;                // link time per byte / that of contiguous stores by one sender (senders collide)
  bool pxn = false;                    // messages to another rail go through the GPU of the sender's node on that rail
  bool staged = true;                  // data goes through a FIFO in the receiver's memory, then to the user buffer
  MessageSpec node;                    // with one node
  std::optional<MessageSpec> network;  // with several nodes; absent: `node`
  std::optional<LowLatencySpec> low_latency;
  std::optional<ChannelsSpec> channels;  // for collectives other than messages between pairs of ranks
  static void describe(config::Describer<LibrarySpec>& d);
};

}  // namespace moire::libraries
