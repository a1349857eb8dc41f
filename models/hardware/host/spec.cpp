#include "models/hardware/host/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::host {

void HostSpec::describe(config::Describer<HostSpec>& d) {
  d.component("host", "Costs of the host, the driver and the queues around a kernel.");
  d.field("enqueue", &HostSpec::enqueue, "Host time to enqueue one operation");
  d.field(
      "copy_enqueue", &HostSpec::copy_enqueue,
      "Host time to enqueue a copy by a DMA engine, ahead of time or by a host thread that polls for the end of other "
      "operations; absent: enqueue. A host thread that has waited for a flag takes enqueue");
  d.field("kernel_start", &HostSpec::kernel_start,
          "Time from a kernel reaching the head of an idle queue to the start of its first workgroup");
  d.field("queue_gap", &HostSpec::queue_gap,
          "Time from the end of an operation to the first workgroup of a kernel that is already enqueued behind it");
  d.field(
       "poll_interval", &HostSpec::poll_interval,
       "Interval at which a DMA engine looks whether the kernels before a copy have ended; the looks come at any "
       "moment of the interval, and kernels look for the end of copies as often (dma.completion). Absent: the engine "
       "sees the end at once")
      .positive();
  d.field("query", &HostSpec::query,
          "Host time of the query of a queue that finds the end of an operation: a host thread that serves several "
          "streams finds one end after the other")
      .or_default();
  d.field("busy_query", &HostSpec::busy_query,
          "Host time of the query of a queue that is busy: while a host thread queries the other busy streams that it "
          "serves, it sees no end and no flag")
      .or_default();
  d.field("copy_seen", &HostSpec::copy_seen,
          "Time from the end of a copy by a DMA engine until a host thread that polls for the end has seen it")
      .or_default();
  d.field("event_pair", &HostSpec::event_pair,
          "Time that two events recorded in a queue add to the kernels between them (metric between_events_us)")
      .or_default();
  d.field("event_pair_alone", &HostSpec::event_pair_alone,
          "The same for a program that uses one GPU, which has no peers; absent: event_pair")
      .optional();
}

}  // namespace moire::host
