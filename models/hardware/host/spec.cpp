#include "models/hardware/host/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::host {

void HostSpec::describe(config::Describer<HostSpec>& d) {
  d.component("host", "Costs of the host, the driver and the queues around a kernel.");
  d.field("enqueue", &HostSpec::enqueue, "Host time to put one operation into a queue");
  d.field("kernel_start", &HostSpec::kernel_start, "From a kernel at the head of an idle queue to its first workgroup");
  d.field("queue_gap", &HostSpec::queue_gap,
          "From the end of an operation to the first workgroup of an already enqueued kernel behind it");
  d.field("poll_interval", &HostSpec::poll_interval,
          "How often a queue looks whether an operation has ended before one of another engine behind it (a kernel "
          "behind a DMA copy, a DMA copy behind a kernel); absent: it sees it at once")
      .positive();
  d.field("event_pair", &HostSpec::event_pair,
          "What two events of a queue add to the time of the kernels between them (metric between_events_us)")
      .or_default();
}

}  // namespace moire::host
