// The times that the host and the driver add to the operations of queues.
#pragma once

#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::host {

struct HostSpec {
  Time enqueue;  // host time to enqueue one operation
  // Host time to enqueue a copy by a DMA engine, ahead of time or by a host thread that polls for the end of other
  // operations. Absent: enqueue. A host thread that has waited for a flag takes `enqueue` for its next call.
  std::optional<Time> copy_enqueue{};
  Time kernel_start;  // from the time at which a kernel is enqueued in an idle queue until its first workgroup starts
  Time queue_gap;     // from the end of an operation until the first workgroup of a kernel that is enqueued by then
  // Interval at which a DMA engine polls for the end of the kernels before a copy. Absent: it sees the end at once.
  // Kernels after a copy poll as often; dma.completion contains their mean wait.
  std::optional<Time> poll_interval{};
  Time query{};       // host time of the query of a queue that finds the end of an operation
  Time busy_query{};  // the same if the query finds the queue busy
  Time copy_seen{};   // from the end of a copy by a DMA engine until a host thread that polls for it has seen it
  Time event_pair{};  // time that two events recorded in a queue add to the kernels between them
  std::optional<Time> event_pair_alone{};  // the same if the program uses one GPU; absent: event_pair
  Time events(std::int64_t gpus) const { return gpus == 1 ? event_pair_alone.value_or(event_pair) : event_pair; }
  Time copy_time() const { return copy_enqueue.value_or(enqueue); }
  static void describe(config::Describer<HostSpec>& d);
};

}  // namespace moire::host
