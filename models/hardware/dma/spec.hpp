// DMA (copy) engines of one GPU: they move bytes without compute units.
#pragma once

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
  // Latency of a command before the copy's first byte. The whole of first_command passes from the moment at which the
  // copy may begin, mostly in parallel with preceding copies. The engine itself is only occupied for the remainder:
  // next_command after a copy of the same queue, switch_command after a copy of another queue (absent: first_command).
  Time first_command;
  Time next_command;
  std::optional<Time> switch_command{};
  Time completion{};  // from a copy's last byte until kernels behind it in its queue can see its end
  // Copies within the GPU are done by a kernel of the driver and begin after this time; absent: an engine does them.
  std::optional<Time> local_command{};
  std::optional<Time> queued_enqueue{};  // host time for a copy behind another of its queue; absent: host.enqueue
  Bytes bytes_in_flight;
  static void describe(config::Describer<DmaSpec>& d);
};

}  // namespace moire::dma
