// Costs of the host and the driver around a kernel.
#pragma once

#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::host {

struct HostSpec {
  Time enqueue;       // host time to enqueue one operation; operation n is available after n times this
  Time kernel_start;  // from an available kernel at the head of an idle queue until its first workgroup
  Time queue_gap;     // from the end of an operation until the first workgroup of a kernel enqueued behind it
  // Interval at which a queue polls for the end of the preceding operation if that runs on another engine: a kernel
  // behind a DMA copy, or a DMA copy behind a kernel. Absent: the end is seen at once.
  std::optional<Time> poll_interval{};
  Time event_pair{};  // time that two events of a queue add to the kernels between them
  static void describe(config::Describer<HostSpec>& d);
};

}  // namespace moire::host
