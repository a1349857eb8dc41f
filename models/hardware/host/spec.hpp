// What the host and the driver cost around a kernel.
#pragma once

#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::host {

struct HostSpec {
  Time enqueue;       // host time to put one operation into a queue; operation n is available after n of them
  Time kernel_start;  // from an available kernel at the head of an idle queue to its first workgroup
  Time queue_gap;     // from the end of an operation to the first workgroup of an already enqueued kernel behind it
  // How often a queue looks whether the operation before has ended if that is of another engine: a kernel behind a copy
  // by a DMA engine, or such a copy behind a kernel. Absent: it sees it at once.
  std::optional<Time> poll_interval{};
  Time event_pair{};  // what two events of a queue add to the work of the kernels between them
  static void describe(config::Describer<HostSpec>& d);
};

}  // namespace moire::host
