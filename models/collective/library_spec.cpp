#include "models/collective/library_spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::models::collective {

void LibrarySpec::describe(config::Describer<LibrarySpec>& d) {
  d.component("library", "How a collective library runs a collective as a kernel: a file of configs/libraries.");
  d.sourced();
  d.field("name", &LibrarySpec::name, "Library and version");
  d.field("max_channels", &LibrarySpec::max_channels, "Channels (workgroups) a collective kernel has at most")
      .range(1, 1024);
  d.field("channels_per_peer", &LibrarySpec::channels_per_peer, "Channels that share the traffic with one peer")
      .range(1, 64);
  d.field("threads", &LibrarySpec::threads, "Threads of a channel's workgroup").range(2, 1024);
  d.field("registers_per_thread", &LibrarySpec::registers_per_thread, "Registers of one thread").range(1, 1024);
  d.field("slot", &LibrarySpec::slot, "Bytes of one FIFO slot between two ranks").positive();
  d.field("slots", &LibrarySpec::slots, "Slots of a FIFO").range(1, 1024);
  d.field("bytes_in_flight", &LibrarySpec::bytes_in_flight, "Bytes a channel's workgroup keeps requested").positive();
  d.field("setup", &LibrarySpec::setup, "Time in the kernel before the first step");
  d.field("step_overhead", &LibrarySpec::step_overhead, "Poll, barrier, fence and flag of one slot");
  d.field("staged", &LibrarySpec::staged, "Through a FIFO in the receiver's memory, then copied to the user buffer")
      .or_default();
}

}  // namespace moire::models::collective
