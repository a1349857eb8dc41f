// What the host and the driver cost around the operations of queues.
#pragma once

#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::host {

struct HostSpec {
  Time enqueue;       // host time to enqueue one operation
  Time kernel_start;  // from the time at which a kernel is enqueued in an idle queue until its first workgroup starts
  Time queue_gap;     // from the end of an operation until the first workgroup of a kernel enqueued behind it
  // Interval at which a queue polls for the end of an operation if the next operation runs on another engine: a kernel
  // behind a DMA copy, or a DMA copy behind a kernel. Absent: the end is seen at once.
  std::optional<Time> poll_interval{};
  Time event_pair{};  // time that two events recorded in a queue add to the kernels between them
  static void describe(config::Describer<HostSpec>& d);
};

}  // namespace moire::host
