#include "models/hardware/host/memory_spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::host {

void MemorySpec::describe(config::Describer<MemorySpec>& d) {
  d.component("host_memory",
              "The memory of a node's host, as GPUs see it through their slots (PCIe): a file in configs/hardware. "
              "Chunked collectives with path: host go through it.");
  d.sourced();
  d.field("name", &MemorySpec::name, "The host and its slots");
  d.field("slot_out", &MemorySpec::slot_out, "Bandwidth of the copies of one GPU into the memory").positive();
  d.field("slot_in", &MemorySpec::slot_in, "Bandwidth of the copies out of the memory into one GPU").positive();
  d.field("slot", &MemorySpec::slot, "Bandwidth of both directions of one GPU together").positive();
  d.field("cache", &MemorySpec::cache,
          "Bytes in the host's caches that copies may occupy, so that they do not wait for the memory")
      .fractional();
  d.field("write", &MemorySpec::write,
          "Bandwidth of the copies of all GPUs of the node into the memory, if the caches do not hold their bytes")
      .positive();
  d.field("read", &MemorySpec::read,
          "Bandwidth of the copies out of the memory, or out of the caches, into all GPUs of the node")
      .positive();
  d.field("bandwidth", &MemorySpec::bandwidth,
          "Bandwidth of all copies of the node together, in both directions, if the caches do not hold their bytes")
      .positive();
  d.field("read_share", &MemorySpec::read_share,
          "Rate of a copy out of the memory relative to the rate of a copy into it, if both wait for the memory")
      .range(0.01, 100);
  d.field("switch_command", &MemorySpec::switch_command,
          "Time from the end of a copy until the first byte of a copy of another queue by the same engine");
  d.field("busy_command", &MemorySpec::busy_command,
          "Time by which the command of a copy behind another copy takes longer while the GPU also copies in the other "
          "direction");
  d.field(
      "calls", &MemorySpec::calls,
      "Host time, after the call that starts a copy into the memory, of the calls that let a copy out of it follow");
  d.field("poll_interval", &MemorySpec::poll_interval,
          "Interval at which the queue of a copy out of the memory checks whether the copy into it has ended")
      .positive();
  d.field("hand_over", &MemorySpec::hand_over,
          "Time from the check that finds the end of the copy into the memory until the first byte of the copy out of "
          "it moves");
}

}  // namespace moire::host
