// DMA (copy) engines of one GPU: they move bytes without compute units.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::dma {

struct DmaSpec {
  std::int64_t engines = 0;           // engines that reach peers; each runs one copy at a time
  std::int64_t peer_concurrency = 0;  // copies to peers of one GPU that make progress at the same time
  BytesPerSecond bandwidth;           // of one engine
  // first_command: time from the moment at which an engine can read the command of a copy until the first byte of the
  // copy moves, if the engine is idle. This time may pass during an earlier copy of the engine. After the end of that
  // copy, the first byte moves at the earliest next_command later if both copies are of the same queue, else
  // switch_command later (absent: first_command).
  Time first_command;
  Time next_command;
  std::optional<Time> switch_command{};
  // From a copy's last byte until kernels after the copy in its queue can see its end. On GPUs whose queues poll, it
  // contains the mean wait for a look. The driver's kernel that copies within the GPU sees the end local_completion
  // after the last byte (absent: completion).
  Time completion{};
  std::optional<Time> local_completion{};
  Time flag_command{};  // from a copy's last byte until a command behind it in its queue has written a flag
  // Present: a kernel of the driver does the copies within the GPU. The first byte of such a copy moves at the earliest
  // this time after the copy is ready. Absent: a DMA engine does the copies within the GPU.
  std::optional<Time> local_command{};
  std::optional<Time> queued_enqueue{};  // host time to enqueue a copy after another copy; absent: host.enqueue
  Bytes bytes_in_flight;
  // From the end of a copy until the first byte of a copy of another queue that has no events around it.
  Time switch_time(Time without_events) const {
    return std::max(next_command, switch_command.value_or(first_command) - without_events);
  }
  static void describe(config::Describer<DmaSpec>& d);
};

}  // namespace moire::dma
