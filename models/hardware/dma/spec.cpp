#include "models/hardware/dma/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::dma {

void DmaSpec::describe(config::Describer<DmaSpec>& d) {
  d.component("dma", "DMA (copy) engines of one GPU; each runs one copy at a time.");
  d.field("engines", &DmaSpec::engines, "Engines that can reach peers").range(1, 1024);
  d.field("peer_concurrency", &DmaSpec::peer_concurrency, "Peer copies of one GPU that make progress at the same time")
      .range(1, 1024);
  d.field("bandwidth", &DmaSpec::bandwidth, "Bandwidth of one engine").positive();
  d.field("first_command", &DmaSpec::first_command,
          "From a copy at the head of its queue to its first byte, idle engine");
  d.field("next_command", &DmaSpec::next_command,
          "From the end of a copy to the first byte of the copy queued behind it in the same queue");
  d.field("switch_command", &DmaSpec::switch_command,
          "The same for a copy of another queue that waited for the engine; absent: first_command");
  d.field("completion", &DmaSpec::completion,
          "From a copy's last byte to the moment when a kernel behind it in its queue can see its end")
      .or_default();
  d.field(
      "local_command", &DmaSpec::local_command,
      "From a copy within the GPU at the head of its queue to its first byte, done by a kernel of the driver; absent: "
      "an engine does such copies");
  d.field("queued_enqueue", &DmaSpec::queued_enqueue,
          "Host time to enqueue a copy behind another copy of its queue, both put there together; absent: host.enqueue")
      .optional();
  d.field("bytes_in_flight", &DmaSpec::bytes_in_flight,
          "Bytes an engine keeps requested; its weight against other traffic")
      .positive()
      .fractional();
}

}  // namespace moire::dma
