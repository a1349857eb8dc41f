#include "models/workload/libraries/collective_library.hpp"

#include <fmt/format.h>

#include "sim/config/spec.hpp"

namespace moire::libraries {

namespace {

constexpr Bytes word{16};  // widest load or store of a thread; data is not divided into smaller pieces

}  // namespace

void MessageSpec::describe(config::Describer<MessageSpec>& d) {
  d.component("message", "How a collective library cuts a message to one peer.");
  d.sourced();
  d.field("channels_per_peer", &MessageSpec::channels_per_peer,
          "Channels that share the traffic with one peer, at most")
      .range(1, 64);
  d.field("slot", &MessageSpec::slot, "Bytes of one FIFO slot between two ranks").at_least(word);
  d.field("smallest_share", &MessageSpec::smallest_share,
          "A message takes fewer channels rather than smaller shares than this")
      .positive();
  d.field("largest_share", &MessageSpec::largest_share,
          "A message takes more channels, up to channels_per_peer, rather than larger shares than this")
      .positive();
  d.field(
       "channel_rate", &MessageSpec::channel_rate,
       "Between nodes: channels_per_peer and more where the GPU's NICs are faster than so many channels at this rate, "
       "as long as those of all ranks find a place; absent: channels_per_peer")
      .optional();
}

void LowLatencySpec::describe(config::Describer<LowLatencySpec>& d) {
  d.component("low_latency", "A collective library's protocol for small messages: data and flags in one store.");
  d.sourced();
  d.field("threshold", &LowLatencySpec::threshold,
          "Largest message to one peer that goes this way, for each channel that the peer may have")
      .positive();
  d.field("slot", &LowLatencySpec::slot, "Bytes of data of one FIFO slot; with the flags twice as many").at_least(word);
  d.field("smallest_share", &LowLatencySpec::smallest_share,
          "A message takes fewer channels rather than smaller shares than this")
      .positive();
  d.field("largest_share", &LowLatencySpec::largest_share,
          "A message takes more channels, up to channels_per_peer, rather than larger shares than this")
      .positive();
  d.field("bytes_in_flight", &LowLatencySpec::bytes_in_flight, "Bytes of data a channel's workgroup keeps requested")
      .positive()
      .fractional();
  d.field("step_overhead", &LowLatencySpec::step_overhead, "Barriers and credit of one slot, of the sender");
}

void ExpectationSpec::describe(config::Describer<ExpectationSpec>& d) {
  d.component(
      "expectation",
      "What a collective library expects of an algorithm with a protocol: start + hops x hop + bytes / rate; it "
      "chooses what ends first.");
  d.sourced();
  d.field("start", &ExpectationSpec::start, "Time that passes whatever the size");
  d.field("hop", &ExpectationSpec::hop, "Time of a step to the next GPU of the node");
  d.field("network_hop", &ExpectationSpec::network_hop, "Time of a step to another node");
  d.field("port_share", &ExpectationSpec::port_share, "Share of the GPU's port that it keeps busy")
      .positive()
      .or_default();
  d.field("at_most", &ExpectationSpec::at_most, "With one node: largest rate on the port that it expects").optional();
  d.field("ring_at_most", &ExpectationSpec::ring_at_most,
          "Largest rate of each ring (of two channels) with 1 node, with 2, ...; the last one counts for all more")
      .or_default();
  d.field("hop_in_node", &ExpectationSpec::hop_in_node,
          "With several nodes: time of a step to the next GPU of the node; absent: hop")
      .optional();
  d.field("latency_factor", &ExpectationSpec::latency_factor,
          "With several nodes: what an all-reduce's start and hops take of what they would")
      .range(1, 10)
      .or_default();
  d.field("network_share", &ExpectationSpec::network_share,
          "With several nodes: share of a node's NICs together that it keeps busy; absent: port_share")
      .positive()
      .optional();
  d.field("network_at_most", &ExpectationSpec::network_at_most,
          "Largest rate that it expects with 2 nodes, with 3, ...; the last one counts for all more")
      .or_default();
  d.field("size_factors", &ExpectationSpec::size_factors,
          "Share of the rate that it expects of an all-reduce of less than 128 B, 256 B, 512 B, ...; beyond them all")
      .or_default();
}

void TreeChunkSpec::describe(config::Describer<TreeChunkSpec>& d) {
  d.component(
      "tree_chunk",
      "Chunks of trees, one slice each, halved while a channel has few of them: levels = 1 + log2(nodes) + GPUs / "
      "10, and a chunk is halved while chunks < levels x many (then x few) / GPUs of a node.");
  d.sourced();
  d.field("most", &TreeChunkSpec::most, "Bytes of data of one step at most").at_least(word);
  d.field("slots", &TreeChunkSpec::slots, "Chunks that a FIFO holds").range(1, 1024);
  d.field("some", &TreeChunkSpec::some, "Halved down to this where there are fewer than many; absent: never")
      .at_least(word)
      .optional();
  d.field("least", &TreeChunkSpec::least, "Halved down to this where there are fewer than few; absent: never")
      .at_least(word)
      .optional();
  d.field("many", &TreeChunkSpec::many, "Chunks of a channel for each level of the tree, over the GPUs of a node")
      .range(0, 1000)
      .or_default();
  d.field("few", &TreeChunkSpec::few, "The same").range(0, 1000).or_default();
}

void ProtocolSpec::describe(config::Describer<ProtocolSpec>& d) {
  d.component("protocol", "How a channel of a collective library moves data through the FIFO between two ranks.");
  d.sourced();
  d.field("threads", &ProtocolSpec::threads, "Threads of a channel's workgroup").range(1, 1024);
  d.field("chunk", &ProtocolSpec::chunk, "Bytes of data of one step of an algorithm, at most").at_least(word);
  d.field("slices", &ProtocolSpec::slices, "Parts of a chunk that follow each other through the FIFO")
      .range(1, 64)
      .or_default();
  d.field("smallest_slice", &ProtocolSpec::smallest_slice, "A small chunk is cut into fewer slices rather than smaller")
      .positive();
  d.field("tree_chunk", &ProtocolSpec::tree_chunk,
          "Chunks of trees, in place of chunk and slices; absent: the same as of rings")
      .optional();
  d.field("slots", &ProtocolSpec::slots, "Slices that a FIFO holds").range(1, 1024);
  d.field("wire", &ProtocolSpec::wire, "Bytes that travel for one byte of data").range(1, 4).or_default();
  d.field("lines", &ProtocolSpec::lines,
          "Data and flags share lines, which the receiver sees as they come; else a flag follows each slice")
      .or_default();
  d.field("bytes_in_flight", &ProtocolSpec::bytes_in_flight, "Bytes of data a channel's workgroup keeps requested")
      .positive()
      .fractional();
  d.field("batch_pause", &ProtocolSpec::batch_pause,
          "Of lines: time between one batch of loads and the next beside what the memory takes")
      .or_default();
  d.field("step_overhead", &ProtocolSpec::step_overhead, "Poll, barriers, fence and flag of one slice");
  d.field("posting", &ProtocolSpec::posting,
          "What of fence and flag the workgroup does not wait for: the receiver sees a slice so much later")
      .or_default();
  d.field("empty_slice", &ProtocolSpec::empty_slice,
          "Of a slice without data (a chunk too small for all its slices): poll, barrier and flag")
      .or_default();
  d.field("step_spread", &ProtocolSpec::step_spread,
          "Share of step_overhead by which it varies up and down from slice to slice, so that channels get out of step")
      .range(0, 1)
      .or_default();
  d.field("smallest_share", &ProtocolSpec::smallest_share,
          "Bytes of the collective for each channel: fewer channels rather than smaller shares")
      .or_default();
  d.field("smallest_share_per_rank", &ProtocolSpec::smallest_share_per_rank, "The same, times the number of ranks")
      .or_default();
  d.field("cell", &ProtocolSpec::cell, "A channel's share is a whole number of what makes this much traffic")
      .positive();
  d.field("ring", &ProtocolSpec::ring, "What the library expects of rings; absent: it takes none by itself").optional();
  d.field("tree", &ProtocolSpec::tree, "The same of trees").optional();
  d.field("direct", &ProtocolSpec::direct, "The same of every rank with every other").optional();
  d.field("recursive", &ProtocolSpec::recursive, "The same of recursive halving and doubling").optional();
  d.check("slots", [](const ProtocolSpec& s) -> std::optional<config::Problem> {
    if (s.slots > s.slices) return std::nullopt;
    return config::Problem{
        fmt::format("slots is {} and slices is {}: a FIFO that one chunk fills lets nobody on", s.slots, s.slices),
        fmt::format("a FIFO holds more than a chunk: slots {} or more", s.slices + 1)};
  });
}

void NetworkRingsSpec::describe(config::Describer<NetworkRingsSpec>& d) {
  d.component(
      "network_rings",
      "Channels of a collective library where there are several nodes: as many rings as the NICs of a node carry, "
      "two channels for each.");
  d.sourced();
  d.field("rate", &NetworkRingsSpec::rate, "The most of a NIC that a ring gets: a faster NIC carries several rings")
      .positive();
  d.field("doubled_from", &NetworkRingsSpec::doubled_from, "Few rings are doubled where a NIC is at least so fast")
      .positive();
  d.field("few", &NetworkRingsSpec::few, "So many rings are few").range(0, 1024);
  d.field("port_share", &NetworkRingsSpec::port_share,
          "With PXN rings leave a node through the NIC by which they enter it, and so pass the links of one GPU more, "
          "where all of them take at most this share of a GPU's port; else every second node is passed backwards")
      .range(0, 100)
      .or_default();
}

void NvlsSpec::describe(config::Describer<NvlsSpec>& d) {
  d.component(
      "nvls",
      "How a collective library sums and copies by the switch of a node (NVLS): a channel has three groups of "
      "threads, which copy to the buffers, sum and store to all GPUs, and copy to the output. A chunk has the overhead "
      "of a slice of protocol simple.");
  d.sourced();
  d.field("channels", &NvlsSpec::channels, "Channels (workgroups) at most").range(1, 1024);
  d.field("threads", &NvlsSpec::threads, "Threads of a channel's workgroup").range(1, 1024);
  d.field("scatter_threads", &NvlsSpec::scatter_threads, "Of them, those that copy the input to the buffers")
      .range(1, 1024);
  d.field("reduce_threads", &NvlsSpec::reduce_threads, "Those that load sums and store to all GPUs").range(1, 1024);
  d.field("gather_threads", &NvlsSpec::gather_threads, "Those that copy from the buffers to the output").range(1, 1024);
  d.field("chunk", &NvlsSpec::chunk, "Bytes of a rank's part that a channel moves in one step").at_least(word);
  d.field("smallest_chunk", &NvlsSpec::smallest_chunk,
          "A chunk is halved down to this while a channel has less than 64 (then 8, then 2) of them")
      .at_least(word);
  d.field("slots", &NvlsSpec::slots, "Chunks that the buffers hold").range(1, 1024);
  d.field("bytes_in_flight", &NvlsSpec::bytes_in_flight, "Bytes that a thread keeps requested").positive();
  d.field("least_ranks", &NvlsSpec::least_ranks, "The library takes it by itself from so many ranks on")
      .range(2, 65536)
      .or_default();
  d.field("expectation", &NvlsSpec::expectation,
          "What the library expects of all-reduces by it; absent: it takes it never by itself")
      .optional();
  d.check("smallest_chunk", [](const NvlsSpec& s) -> std::optional<config::Problem> {
    if (s.smallest_chunk <= s.chunk) return std::nullopt;
    return config::Problem{"the smallest chunk is larger than a chunk", "write at most what chunk says"};
  });
  d.check("threads", [](const NvlsSpec& s) -> std::optional<config::Problem> {
    const std::int64_t groups = s.scatter_threads + s.reduce_threads + s.gather_threads;
    if (groups <= s.threads) return std::nullopt;
    return config::Problem{fmt::format("{} threads, of which {} scatter, reduce and gather", s.threads, groups),
                           "give the three groups no more than all threads"};
  });
}

void ChannelsSpec::describe(config::Describer<ChannelsSpec>& d) {
  d.component("channels", "A collective library's kernels in which a channel walks through the steps of an algorithm.");
  d.sourced();
  d.field("channels", &ChannelsSpec::channels, "Channels (workgroups) that a kernel has at most").range(1, 1024);
  d.field("network", &ChannelsSpec::network,
          "Channels by the NICs where there are several nodes; absent: as with one node")
      .optional();
  d.field("setup", &ChannelsSpec::setup, "Time in the kernel before the first step");
  d.field("copy_cost", &ChannelsSpec::copy_cost,
          "What a byte that its loops load or store takes of the CU over what a plain loop's takes")
      .range(0.5, 10)
      .or_default();
  d.field("link_cost", &ChannelsSpec::link_cost,
          "What a byte to a peer takes of the links over what contiguous stores of one sender take")
      .range(1, 10)
      .or_default();
  d.field("local_overhead", &ChannelsSpec::local_overhead,
          "Of a step without a FIFO (a copy or sum within the GPU) beside moving its data: barriers, first loads")
      .or_default();
  d.field("order_overhead", &ChannelsSpec::order_overhead,
          "Where a channel waits for another one of its GPU: barrier, fence and flag, of the one and of the other")
      .or_default();
  d.field("simple", &ChannelsSpec::simple, "Protocol with a flag after each slice");
  d.field("ll", &ChannelsSpec::ll, "Protocol with a flag beside each word").optional();
  d.field("ll128", &ChannelsSpec::ll128, "Protocol with a flag in each line of 128 bytes").optional();
  d.field("nvls", &ChannelsSpec::nvls, "Sums and copies by the switch of a node; absent: it has none").optional();
}

void LibrarySpec::describe(config::Describer<LibrarySpec>& d) {
  d.component("library", "How a collective library runs a collective as a kernel: a file of configs/libraries.");
  d.sourced();
  d.field("name", &LibrarySpec::name, "Library and version");
  d.field("max_channels", &LibrarySpec::max_channels,
          "Channels (workgroups) a collective kernel has at most; rounded up to a power of two")
      .range(1, 1024);
  d.field("peers_at_once", &LibrarySpec::peers_at_once, "Peers that one channel serves side by side, its threads split")
      .range(1, 64);
  d.field("threads", &LibrarySpec::threads, "Threads of a channel's workgroup").range(2, 1024);
  d.field("registers_per_thread", &LibrarySpec::registers_per_thread, "Registers of one thread").range(1, 1024);
  d.field("lds", &LibrarySpec::lds, "Shared memory (LDS) of a workgroup; less on a GPU that has less").or_default();
  d.field("cluster", &LibrarySpec::cluster,
          "Workgroups that are placed together in a group of CUs, where the grid divides by it")
      .range(1, 64)
      .or_default();
  d.field("slots", &LibrarySpec::slots, "Slots of a FIFO").range(1, 1024);
  d.field("bytes_in_flight", &LibrarySpec::bytes_in_flight,
          "Bytes a channel's workgroup keeps requested when all its threads copy")
      .positive()
      .fractional();
  d.field("setup", &LibrarySpec::setup, "Time in the kernel before the first step");
  d.field("step_overhead", &LibrarySpec::step_overhead,
          "Poll, barriers, fence and flag of one slot, of the sender and of the receiver");
  d.field("copy_cost", &LibrarySpec::copy_cost,
          "What a byte that its loops load or store takes of the CU over what a plain loop's takes")
      .range(0.5, 10)
      .or_default();
  d.field(
       "link_cost", &LibrarySpec::link_cost,
       "What a byte to a peer takes of the links over what contiguous stores of one sender take: all ranks send to all "
       "at once and collide")
      .range(1, 10)
      .or_default();
  d.field(
       "pxn", &LibrarySpec::pxn,
       "PXN: what a rank sends to a GPU of another node it stores to the GPU of its own node that has the NIC of the "
       "receiver's rail, and that NIC sends it; where the node has direct links between its GPUs (nvswitch, full_mesh)")
      .or_default();
  d.field("staged", &LibrarySpec::staged, "Through a FIFO in the receiver's memory, then copied to the user buffer")
      .or_default();
  d.field("node", &LibrarySpec::node, "Messages in a system of one node");
  d.field("network", &LibrarySpec::network,
          "Messages in a system of several nodes; the same as node if it is not there")
      .optional();
  d.field("low_latency", &LibrarySpec::low_latency, "Protocol for small messages").optional();
  d.field("channels", &LibrarySpec::channels, "Collectives other than messages between pairs of ranks").optional();
}

}  // namespace moire::libraries
