// Over 400 lines: the keys of all parts of a profile and their checks, one describe() for each part.
#include "models/workload/libraries/collective_library.hpp"

#include <fmt/format.h>

#include "sim/config/spec.hpp"

namespace moire::libraries {

namespace {

constexpr Bytes word{16};  // widest load or store of a thread; data is not divided into smaller pieces

}  // namespace

void MessageSpec::describe(config::Describer<MessageSpec>& d) {
  d.component("message", "How a collective library divides a message to one peer.");
  d.sourced();
  d.field("channels_per_peer", &MessageSpec::channels_per_peer,
          "Largest number of channels that share the traffic with one peer")
      .range(1, 64);
  d.field("slot", &MessageSpec::slot, "Bytes of one slot of the FIFO between two ranks").at_least(word);
  d.field("smallest_share", &MessageSpec::smallest_share,
          "Smallest share of a channel: a message uses fewer channels rather than smaller shares")
      .positive();
  d.field(
       "largest_share", &MessageSpec::largest_share,
       "Largest share of a channel: a message uses more channels, up to channels_per_peer, rather than larger shares")
      .positive();
  d.field("channel_rate", &MessageSpec::channel_rate,
          "Between nodes: rate of one channel. A peer gets channels_per_peer channels, or more if the GPU's NICs are "
          "faster than that many channels at this rate, as long as the channels of all ranks fit; absent: "
          "channels_per_peer")
      .optional();
}

void LowLatencySpec::describe(config::Describer<LowLatencySpec>& d) {
  d.component("low_latency",
              "The protocol of a collective library for small messages, which stores data and flags together.");
  d.sourced();
  d.field("threshold", &LowLatencySpec::threshold,
          "Largest message to one peer that uses this protocol, per channel that the peer may have")
      .positive();
  d.field("slot", &LowLatencySpec::slot, "Bytes of data in one slot of the FIFO; with the flags it takes twice as many")
      .at_least(word);
  d.field("smallest_share", &LowLatencySpec::smallest_share,
          "Smallest share of a channel: a message uses fewer channels rather than smaller shares")
      .positive();
  d.field(
       "largest_share", &LowLatencySpec::largest_share,
       "Largest share of a channel: a message uses more channels, up to channels_per_peer, rather than larger shares")
      .positive();
  d.field("bytes_in_flight", &LowLatencySpec::bytes_in_flight,
          "Bytes of data that the workgroup of a channel keeps requested")
      .positive()
      .fractional();
  d.field("step_overhead", &LowLatencySpec::step_overhead,
          "Time of the sender for the barriers and the credit of one slot");
}

void ExpectationSpec::describe(config::Describer<ExpectationSpec>& d) {
  d.component("expectation",
              "The time that a collective library expects of an algorithm with a protocol, start + hops x hop + bytes "
              "/ rate; the library chooses the combination with the smallest time.");
  d.sourced();
  d.field("start", &ExpectationSpec::start, "Time that does not depend on the size");
  d.field("hop", &ExpectationSpec::hop, "Time of a step to the next GPU of the node");
  d.field("network_hop", &ExpectationSpec::network_hop, "Time of a step to another node");
  d.field("port_share", &ExpectationSpec::port_share,
          "Share of the bandwidth of the GPU's port that the library expects to reach")
      .positive()
      .or_default();
  d.field("at_most", &ExpectationSpec::at_most, "With one node: largest rate that the library expects on the port")
      .optional();
  d.field("ring_at_most", &ExpectationSpec::ring_at_most,
          "Largest rate of each ring (of two channels) with 1 node, with 2 nodes, ...; the last entry holds for all "
          "larger numbers")
      .or_default();
  d.field("hop_in_node", &ExpectationSpec::hop_in_node,
          "With several nodes: time of a step to the next GPU of the node; absent: hop")
      .optional();
  d.field("latency_factor", &ExpectationSpec::latency_factor,
          "With several nodes: factor on the start and hops of an all-reduce")
      .range(1, 10)
      .or_default();
  d.field("network_share", &ExpectationSpec::network_share,
          "With several nodes: share of the bandwidth of a node's NICs together that the library expects to reach; "
          "absent: port_share")
      .positive()
      .optional();
  d.field("network_at_most", &ExpectationSpec::network_at_most,
          "Largest rate that the library expects with 2 nodes, with 3 nodes, ...; the last entry holds for all larger "
          "numbers")
      .or_default();
  d.field("size_factors", &ExpectationSpec::size_factors,
          "Factor on the expected rate of an all-reduce of less than 128 B, 256 B, 512 B, ...; above the last of these "
          "sizes it is 1")
      .or_default();
}

void TreeChunkSpec::describe(config::Describer<TreeChunkSpec>& d) {
  d.component("tree_chunk",
              "Chunks of trees, with one slice each. A chunk is halved while a channel has fewer chunks than levels x "
              "many / GPUs of a node, then while it has fewer than levels x few / GPUs of a node, where levels = 1 + "
              "log2(nodes) + GPUs of a node / 10.");
  d.sourced();
  d.field("most", &TreeChunkSpec::most, "Bytes of data of one step at most").at_least(word);
  d.field("slots", &TreeChunkSpec::slots, "Number of chunks that a FIFO holds").range(1, 1024);
  d.field("some", &TreeChunkSpec::some,
          "A chunk is halved down to this size if there are fewer than `many`; absent: it is not")
      .at_least(word)
      .optional();
  d.field("least", &TreeChunkSpec::least,
          "A chunk is halved down to this size if there are fewer than `few`; absent: it is not")
      .at_least(word)
      .optional();
  d.field("many", &TreeChunkSpec::many,
          "Chunks of a channel for each level of the tree, over the GPUs of a node, below which chunks are halved down "
          "to `some`")
      .range(0, 1000)
      .or_default();
  d.field("few", &TreeChunkSpec::few,
          "Chunks of a channel for each level of the tree, over the GPUs of a node, below which chunks are halved down "
          "to `least`")
      .range(0, 1000)
      .or_default();
}

void ProtocolSpec::describe(config::Describer<ProtocolSpec>& d) {
  d.component("protocol", "How a channel of a collective library moves data through the FIFO between two ranks.");
  d.sourced();
  d.field("threads", &ProtocolSpec::threads, "Threads of a channel's workgroup").range(1, 1024);
  d.field("chunk", &ProtocolSpec::chunk, "Bytes of data of one step of an algorithm, at most").at_least(word);
  d.field("slices", &ProtocolSpec::slices, "Number of parts of a chunk that follow each other through the FIFO")
      .range(1, 64)
      .or_default();
  d.field("smallest_slice", &ProtocolSpec::smallest_slice,
          "Size of a slice below which a chunk is divided into fewer slices")
      .positive();
  d.field("tree_chunk", &ProtocolSpec::tree_chunk, "Chunks of trees, replacing chunk and slices; absent: as for rings")
      .optional();
  d.field("slots", &ProtocolSpec::slots, "Number of slices that a FIFO holds").range(1, 1024);
  d.field("wire", &ProtocolSpec::wire, "Bytes on the wire per byte of data").range(1, 4).or_default();
  d.field("lines", &ProtocolSpec::lines,
          "true: data and flags share lines, and the receiver sees each line when it arrives; false: a flag follows "
          "each slice")
      .or_default();
  d.field("bytes_in_flight", &ProtocolSpec::bytes_in_flight,
          "Bytes of data that the workgroup of a channel keeps requested")
      .positive()
      .fractional();
  d.field(
       "turn", &ProtocolSpec::turn,
       "Bytes that a wavefront takes at a time. All wavefronts take the bytes that do not fill a turn together, after "
       "all turns. With lines only for copies and sums within the GPU. 0: the time of the loop is in proportion to "
       "its bytes")
      .or_default();
  d.field(
       "batch_pause", &ProtocolSpec::batch_pause,
       "With data and flags in shared lines: time between two batches of loads, in addition to the time of the memory")
      .or_default();
  d.field("preparation", &ProtocolSpec::preparation,
          "Time that the workgroup takes before it waits for the data of a slice, such as for reading the step")
      .or_default();
  d.field("step_overhead", &ProtocolSpec::step_overhead,
          "Time for the poll, the barriers, the fence and the flag of one slice");
  d.field(
       "posting", &ProtocolSpec::posting,
       "One thread executes the fence and the flag of a slice, while the others go on with the next slice; they wait "
       "for this thread at the end of that slice. The thread takes this time in addition to the GPU's fence for "
       "stores to a peer. Absent: the fence and the flag are part of step_overhead")
      .optional();
  d.field("posting_beside", &ProtocolSpec::posting_beside,
          "Time by which `posting` is longer if the other threads store the next slice of the same step meanwhile")
      .or_default();
  d.field("empty_slice", &ProtocolSpec::empty_slice,
          "Time of a slice without data (if a chunk is too small for all its slices): poll, barrier and flag")
      .or_default();
  d.field("step_spread", &ProtocolSpec::step_spread,
          "Share of step_overhead by which it varies up and down from slice to slice, so that channels do not stay in "
          "step")
      .range(0, 1)
      .or_default();
  d.field("smallest_share", &ProtocolSpec::smallest_share,
          "Bytes of the collective per channel: it uses fewer channels rather than smaller shares")
      .or_default();
  d.field("smallest_share_per_rank", &ProtocolSpec::smallest_share_per_rank,
          "Bytes of the collective per channel and rank: it uses fewer channels rather than smaller shares")
      .or_default();
  d.field("cell", &ProtocolSpec::cell, "The share of a channel is a multiple of the data that make this much traffic")
      .positive();
  d.field("ring", &ProtocolSpec::ring, "What the library expects of rings; absent: it does not choose them by itself")
      .optional();
  d.field("tree", &ProtocolSpec::tree, "What the library expects of trees; absent: it does not choose them by itself")
      .optional();
  d.field("direct", &ProtocolSpec::direct,
          "What the library expects of direct exchanges between all ranks; absent: it does not choose them by itself")
      .optional();
  d.field("recursive", &ProtocolSpec::recursive,
          "What the library expects of recursive halving and doubling; absent: it does not choose them by itself")
      .optional();
  d.check("slots", [](const ProtocolSpec& s) -> std::optional<config::Problem> {
    if (s.slots > s.slices) return std::nullopt;
    return config::Problem{
        fmt::format("slots is {} and slices is {}: every rank would block, because one chunk fills its FIFO", s.slots,
                    s.slices),
        fmt::format("give the FIFO more slots than a chunk has slices: {} or more", s.slices + 1)};
  });
  d.check("turn", [](const ProtocolSpec& s) -> std::optional<config::Problem> {
    if (s.turn.value <= s.bytes_in_flight.value) return std::nullopt;
    return config::Problem{
        fmt::format("turn is {} and bytes_in_flight is {}: a wavefront would load more than all wavefronts together",
                    config::format_quantity(s.turn), config::format_quantity(s.bytes_in_flight)),
        "write at most bytes_in_flight"};
  });
  d.check("posting", [](const ProtocolSpec& s) -> std::optional<config::Problem> {
    if (!s.posting || !s.lines) return std::nullopt;
    return config::Problem{
        "posting is the time of a flag after a slice, but here each line holds its flag (lines: true)",
        "leave posting out"};
  });
  d.check("posting_beside", [](const ProtocolSpec& s) -> std::optional<config::Problem> {
    if (s.posting || s.posting_beside.ps == 0) return std::nullopt;
    return config::Problem{"posting_beside makes posting longer, but there is no posting",
                           "write posting, or leave posting_beside out"};
  });
}

void NetworkRingsSpec::describe(config::Describer<NetworkRingsSpec>& d) {
  d.component("network_rings",
              "Channels of a collective library if there are several nodes: as many rings as the NICs of a node can "
              "carry, with two channels each.");
  d.sourced();
  d.field("rate", &NetworkRingsSpec::rate, "Largest rate of a ring on a NIC: a faster NIC carries several rings")
      .positive();
  d.field("doubled_from", &NetworkRingsSpec::doubled_from, "Rate of a NIC from which on few rings are doubled")
      .positive();
  d.field("few", &NetworkRingsSpec::few, "Number of rings that counts as few").range(0, 1024);
  d.field("port_share", &NetworkRingsSpec::port_share,
          "With PXN, a ring leaves a node through the NIC by which it entered, and therefore uses the links of one "
          "further GPU, if all rings take at most this share of a GPU's port; otherwise every second node is traversed "
          "backwards")
      .range(0, 100)
      .or_default();
}

void NvlsBetweenSpec::describe(config::Describer<NvlsBetweenSpec>& d) {
  d.component("nvls_between",
              "How NVLS continues between nodes. One GPU for each NIC of a node owns a part of the data. Its channels "
              "have four groups of threads: the first and the last copy to and from the buffers, the second loads the "
              "sums of the node and sends them to other nodes, and the third stores the totals of all nodes to all "
              "GPUs of the node.");
  d.sourced();
  const char* const groups[] = {"Number of threads that copy the input to the buffers",
                                "Number of threads that load sums and send them to other nodes",
                                "Number of threads that store the totals of all nodes to all GPUs of the node",
                                "Number of threads that copy from the buffers to the output"};
  d.field("scatter_threads", &NvlsBetweenSpec::scatter_threads, groups[0]).range(1, 1024);
  d.field("reduce_threads", &NvlsBetweenSpec::reduce_threads, groups[1]).range(1, 1024);
  d.field("broadcast_threads", &NvlsBetweenSpec::broadcast_threads, groups[2]).range(1, 1024);
  d.field("gather_threads", &NvlsBetweenSpec::gather_threads, groups[3]).range(1, 1024);
  d.field("chunk", &NvlsBetweenSpec::chunk, "Bytes of a part that a channel moves in one step").at_least(word);
  d.field("deep_chunk", &NvlsBetweenSpec::deep_chunk,
          "Bytes of a part that a channel moves in one step with 4 nodes or more; absent: chunk")
      .at_least(word);
  d.field("halved_below", &NvlsBetweenSpec::halved_below,
          "Numbers of chunks per channel and part, in falling order: a chunk is halved once for each number that "
          "exceeds the number of chunks that there are")
      .or_default();
  d.field("smallest_chunk", &NvlsBetweenSpec::smallest_chunk,
          "Size down to which the last number of halved_below halves a chunk; each number before it halves down to "
          "twice the size of the next number")
      .at_least(word);
  d.check("smallest_chunk", [](const NvlsBetweenSpec& s) -> std::optional<config::Problem> {
    if (s.smallest_chunk <= s.chunk && s.smallest_chunk <= s.deep_chunk.value_or(s.chunk)) return std::nullopt;
    return config::Problem{"the smallest chunk is larger than a chunk", "write at most the value of chunk"};
  });
}

void NvlsSpec::describe(config::Describer<NvlsSpec>& d) {
  d.component("nvls",
              "How a collective library sums and copies through the switch of a node (NVLS). A channel has three "
              "groups of threads: the first copies to the buffers, the second sums and stores to all GPUs, and the "
              "third copies to the output. A chunk has the overhead of a slice of protocol simple.");
  d.sourced();
  d.field("channels", &NvlsSpec::channels, "Largest number of channels (workgroups)").range(1, 1024);
  d.field("threads", &NvlsSpec::threads, "Threads of a channel's workgroup").range(1, 1024);
  d.field("scatter_threads", &NvlsSpec::scatter_threads, "Number of threads that copy the input to the buffers")
      .range(1, 1024);
  d.field("reduce_threads", &NvlsSpec::reduce_threads, "Number of threads that load sums and store to all GPUs")
      .range(1, 1024);
  d.field("gather_threads", &NvlsSpec::gather_threads, "Number of threads that copy from the buffers to the output")
      .range(1, 1024);
  d.field("chunk", &NvlsSpec::chunk, "Bytes of a rank's part that a channel moves in one step").at_least(word);
  d.field("smallest_chunk", &NvlsSpec::smallest_chunk,
          "Size down to which a chunk is halved while a channel has fewer than 64 (then 8, then 2) chunks")
      .at_least(word);
  d.field("slots", &NvlsSpec::slots, "Number of chunks that the buffers hold").range(1, 1024);
  d.field("bytes_in_flight", &NvlsSpec::bytes_in_flight, "Bytes that a thread keeps requested").positive();
  d.field("least_ranks", &NvlsSpec::least_ranks, "Number of ranks from which on the library chooses NVLS by itself")
      .range(2, 65536)
      .or_default();
  d.field("expectation", &NvlsSpec::expectation,
          "What the library expects of all-reduces through the switch; absent: it never chooses NVLS by itself")
      .optional();
  d.field("tree", &NvlsSpec::tree,
          "How trees of GPUs connect the nodes (nvls_tree); absent: the library does not support them")
      .optional();
  d.field("sharp", &NvlsSpec::sharp,
          "How switches that sum connect the nodes (nvls_sharp); absent: the library does not support them")
      .optional();
  d.check("smallest_chunk", [](const NvlsSpec& s) -> std::optional<config::Problem> {
    if (s.smallest_chunk <= s.chunk) return std::nullopt;
    return config::Problem{"the smallest chunk is larger than a chunk", "write at most the value of chunk"};
  });
  d.check("threads", [](const NvlsSpec& s) -> std::optional<config::Problem> {
    const std::int64_t groups = s.scatter_threads + s.reduce_threads + s.gather_threads;
    if (groups <= s.threads) return std::nullopt;
    return config::Problem{
        fmt::format("threads is {}, but scatter_threads, reduce_threads and gather_threads are {} together", s.threads,
                    groups),
        "make their sum at most threads"};
  });
  const auto fit = [](const NvlsSpec& s, const std::optional<NvlsBetweenSpec>& b) -> std::optional<config::Problem> {
    if (!b) return std::nullopt;
    const std::int64_t groups = b->scatter_threads + b->reduce_threads + b->broadcast_threads + b->gather_threads;
    if (groups <= s.threads) return std::nullopt;
    return config::Problem{
        fmt::format("threads of nvls is {}, but the four groups of threads have {} together", s.threads, groups),
        "make the sum of the groups at most threads"};
  };
  d.check("tree", [fit](const NvlsSpec& s) { return fit(s, s.tree); });
  d.check("sharp", [fit](const NvlsSpec& s) { return fit(s, s.sharp); });
}

void ChannelsSpec::describe(config::Describer<ChannelsSpec>& d) {
  d.component("channels",
              "The kernels of a collective library in which a channel walks through the steps of an algorithm.");
  d.sourced();
  d.field("channels", &ChannelsSpec::channels, "Largest number of channels (workgroups) of a kernel").range(1, 1024);
  d.field("network", &ChannelsSpec::network,
          "Number of channels, from the NICs of a node, if there are several nodes; absent: as with one node")
      .optional();
  d.field("setup", &ChannelsSpec::setup, "Time in the kernel before its first step");
  d.field("connection_setup", &ChannelsSpec::connection_setup,
          "Time that a channel with a connection to another GPU takes in addition to `setup`, to load the counters of "
          "the connection")
      .or_default();
  d.field("first_send_loads", &ChannelsSpec::first_send_loads,
          "Number of loads from memory, one after the other, that the first send over a connection waits for, such as "
          "that of the receiver's counter")
      .range(0, 16)
      .or_default();
  d.field("copy_cost", &ChannelsSpec::copy_cost,
          "CU time of a byte that the kernel loads or stores, relative to a byte of a plain loop")
      .range(0.5, 10)
      .or_default();
  d.field("link_cost", &ChannelsSpec::link_cost,
          "Link time of a byte to a peer, relative to a byte of contiguous stores of one sender")
      .range(1, 10)
      .or_default();
  d.field("local_overhead", &ChannelsSpec::local_overhead,
          "Time of a step without a FIFO (a copy or sum within the GPU) in addition to moving its data: barriers and "
          "first loads")
      .or_default();
  d.field("order_overhead", &ChannelsSpec::order_overhead,
          "Time that each of two channels of a GPU takes if one waits for the other: barrier, fence and flag")
      .or_default();
  d.field("simple", &ChannelsSpec::simple, "Protocol with a flag after each slice");
  d.field("ll", &ChannelsSpec::ll, "Protocol with a flag beside each word").optional();
  d.field("ll128", &ChannelsSpec::ll128, "Protocol with a flag in each line of 128 bytes").optional();
  d.field("nvls", &ChannelsSpec::nvls,
          "Sums and copies through the switch of a node; absent: the library does not support them")
      .optional();
}

void LibrarySpec::describe(config::Describer<LibrarySpec>& d) {
  d.component("library", "How a collective library runs a collective as a kernel: a file in configs/libraries.");
  d.sourced();
  d.field("name", &LibrarySpec::name, "Library and version");
  d.field("max_channels", &LibrarySpec::max_channels,
          "Largest number of channels (workgroups) of a collective kernel, rounded up to a power of two")
      .range(1, 1024);
  d.field("peers_at_once", &LibrarySpec::peers_at_once,
          "Number of peers that one channel serves at the same time, with its threads divided among them")
      .range(1, 64);
  d.field("threads", &LibrarySpec::threads, "Threads of a channel's workgroup").range(2, 1024);
  d.field("registers_per_thread", &LibrarySpec::registers_per_thread, "Registers per thread").range(1, 1024);
  d.field("lds", &LibrarySpec::lds, "Shared memory (LDS) of a workgroup; on a GPU whose CUs have less: all of it")
      .or_default();
  d.field("cluster", &LibrarySpec::cluster,
          "Workgroups that are placed together in a group of CUs, if their number divides the grid")
      .range(1, 64)
      .or_default();
  d.field("slots", &LibrarySpec::slots, "Number of slots of a FIFO").range(1, 1024);
  d.field("bytes_in_flight", &LibrarySpec::bytes_in_flight,
          "Bytes that a channel's workgroup keeps requested if all its threads copy")
      .positive()
      .fractional();
  d.field("setup", &LibrarySpec::setup, "Time in the kernel before its first step");
  d.field("cold_start", &LibrarySpec::cold_start,
          "Time that setup takes longer if the kernel has several channels and no other kernel runs before it in its "
          "queue, because the kernel begins the queue or waits for another one")
      .or_default();
  d.field("step_overhead", &LibrarySpec::step_overhead,
          "Time for the poll, the barriers, the fence and the flag of one slot, of the sender and of the receiver");
  d.field("copy_cost", &LibrarySpec::copy_cost,
          "CU time of a byte that the kernel loads or stores, relative to a byte of a plain loop")
      .range(0.5, 10)
      .or_default();
  d.field("link_cost", &LibrarySpec::link_cost,
          "Link time of a byte to a peer, relative to a byte of contiguous stores of one sender, because all ranks "
          "send to all at once and collide")
      .range(1, 10)
      .or_default();
  d.field("pxn", &LibrarySpec::pxn,
          "PXN: for a GPU of another node, a rank stores the data to the GPU of its own node that has the NIC of the "
          "receiver's rail, and that NIC sends them; this requires direct links between the GPUs of a node (nvswitch, "
          "full_mesh)")
      .or_default();
  d.field("staged", &LibrarySpec::staged,
          "true: data go through a FIFO in the receiver's memory and are then copied to the user's buffer")
      .or_default();
  d.field("node", &LibrarySpec::node, "Messages in a system of one node");
  d.field("network", &LibrarySpec::network, "Messages in a system of several nodes; absent: as in node").optional();
  d.field("low_latency", &LibrarySpec::low_latency, "Protocol for small messages").optional();
  d.field("channels", &LibrarySpec::channels, "Collectives other than messages between pairs of ranks").optional();
}

}  // namespace moire::libraries
