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
  // Time from the moment at which a copy may begin until its first byte moves, if the engine is idle. Most of this time
  // can pass during earlier copies. After the end of an earlier copy, the engine only needs next_command if that copy
  // was of the same queue, or switch_command if it was of another queue (absent: first_command).
  Time first_command;
  Time next_command;
  std::optional<Time> switch_command{};
  Time completion{};  // from a copy's last byte until kernels behind it in its queue can see its end
  // Present: a kernel of the driver does copies within the GPU, and their first byte moves after this time. Absent: a
  // DMA engine does them.
  std::optional<Time> local_command{};
  std::optional<Time> queued_enqueue{};  // host time for a copy behind another of its queue; absent: host.enqueue
  Bytes bytes_in_flight;
  static void describe(config::Describer<DmaSpec>& d);
};

}  // namespace moire::dma
