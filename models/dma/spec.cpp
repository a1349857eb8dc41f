#include "models/dma/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::models::dma {

void DmaSpec::describe(config::Describer<DmaSpec>& d) {
  d.component("dma", "DMA (copy) engines of one GPU; each runs one copy at a time.");
  d.field("engines", &DmaSpec::engines, "Engines that can reach peers").range(1, 1024);
  d.field("peer_concurrency", &DmaSpec::peer_concurrency, "Peer copies of one GPU that make progress at the same time")
      .range(1, 1024);
  d.field("bandwidth", &DmaSpec::bandwidth, "Bandwidth of one engine").positive();
  d.field("first_command", &DmaSpec::first_command, "From a copy at the head of its queue to its first byte");
  d.field("next_command", &DmaSpec::next_command, "The same for a copy queued behind another copy of its queue");
  d.field("bytes_in_flight", &DmaSpec::bytes_in_flight,
          "Bytes an engine keeps requested; its weight against other traffic")
      .positive();
  d.field("local_bandwidth", &DmaSpec::local_bandwidth,
          "Bandwidth of a copy within the GPU where the driver runs it as a kernel; without it engines copy")
      .positive()
      .optional();
  d.field("local_command", &DmaSpec::local_command, "From the start of such a copy to its first byte").or_default();
}

}  // namespace moire::models::dma
