#include "models/collective/library_spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::models::collective {

void MessageSpec::describe(config::Describer<MessageSpec>& d) {
  d.component("message", "How a collective library cuts a message to one peer.");
  d.sourced();
  d.field("channels_per_peer", &MessageSpec::channels_per_peer,
          "Channels that share the traffic with one peer, at most")
      .range(1, 64);
  d.field("slot", &MessageSpec::slot, "Bytes of one FIFO slot between two ranks").positive();
  d.field("smallest_share", &MessageSpec::smallest_share,
          "A message takes fewer channels rather than smaller shares than this")
      .positive();
  d.field("largest_share", &MessageSpec::largest_share,
          "A message takes more channels, up to channels_per_peer, rather than larger shares than this")
      .positive();
}

void LowLatencySpec::describe(config::Describer<LowLatencySpec>& d) {
  d.component("low_latency", "A collective library's protocol for small messages: data and flags in one store.");
  d.sourced();
  d.field("threshold", &LowLatencySpec::threshold,
          "Largest message to one peer that goes this way, for each channel that the peer may have")
      .positive();
  d.field("slot", &LowLatencySpec::slot, "Bytes of data of one FIFO slot; with the flags twice as many").positive();
  d.field("smallest_share", &LowLatencySpec::smallest_share,
          "A message takes fewer channels rather than smaller shares than this")
      .positive();
  d.field("largest_share", &LowLatencySpec::largest_share,
          "A message takes more channels, up to channels_per_peer, rather than larger shares than this")
      .positive();
  d.field("bytes_in_flight", &LowLatencySpec::bytes_in_flight, "Bytes of data a channel's workgroup keeps requested")
      .positive();
  d.field("step_overhead", &LowLatencySpec::step_overhead, "Barriers and credit of one slot, of the sender");
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
  d.field("slots", &LibrarySpec::slots, "Slots of a FIFO").range(1, 1024);
  d.field("bytes_in_flight", &LibrarySpec::bytes_in_flight,
          "Bytes a channel's workgroup keeps requested when all its threads copy")
      .positive();
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
  d.field("staged", &LibrarySpec::staged, "Through a FIFO in the receiver's memory, then copied to the user buffer")
      .or_default();
  d.field("node", &LibrarySpec::node, "Messages in a system of one node");
  d.field("network", &LibrarySpec::network,
          "Messages in a system of several nodes; the same as node if it is not there")
      .optional();
  d.field("low_latency", &LibrarySpec::low_latency, "Protocol for small messages").optional();
}

}  // namespace moire::models::collective
