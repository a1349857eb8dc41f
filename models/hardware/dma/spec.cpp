#include "models/hardware/dma/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::dma {

void DmaSpec::describe(config::Describer<DmaSpec>& d) {
  d.component("dma", "The DMA (copy) engines of one GPU; each runs one copy at a time.");
  d.field("engines", &DmaSpec::engines, "Number of engines that can reach peers").range(1, 1024);
  d.field("peer_concurrency", &DmaSpec::peer_concurrency,
          "Number of peer copies of one GPU that can progress at the same time")
      .range(1, 1024);
  d.field("bandwidth", &DmaSpec::bandwidth, "Bandwidth of one engine").positive();
  d.field("first_command", &DmaSpec::first_command,
          "Time from a copy reaching the head of its queue until its first byte moves, if the engine is idle");
  d.field("next_command", &DmaSpec::next_command,
          "Time from the end of a copy until the first byte of the next copy in the same queue moves");
  d.field("switch_command", &DmaSpec::switch_command,
          "Time from the end of a copy until the first byte moves of a copy of another queue that waited for the "
          "engine; absent: first_command");
  d.field(
       "completion", &DmaSpec::completion,
       "Time from the last byte of a copy until a kernel behind it in its queue can see its end; the mean, if queues "
       "poll (host.poll_interval)")
      .or_default();
  d.field("local_completion", &DmaSpec::local_completion,
          "The same until a kernel of the driver that copies within the GPU can see it; absent: completion");
  d.field("flag_command", &DmaSpec::flag_command,
          "Time from the last byte of a copy until a command behind it in its queue has written a flag, on GPUs whose "
          "queues poll (host.poll_interval)")
      .or_default();
  d.field("local_command", &DmaSpec::local_command,
          "If the driver copies within the GPU by a kernel: time from such a copy reaching the head of its queue until "
          "its first byte moves; absent: a DMA engine does these copies");
  d.field("queued_enqueue", &DmaSpec::queued_enqueue,
          "Host time to enqueue a copy right after another copy of the same queue, in one call; absent: host.enqueue")
      .optional();
  d.field("bytes_in_flight", &DmaSpec::bytes_in_flight,
          "Bytes that an engine keeps requested; this is its weight against other traffic")
      .positive()
      .fractional();
}

}  // namespace moire::dma
