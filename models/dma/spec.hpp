// DMA (copy) engines of one GPU: they move bytes without compute units.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::models::dma {

struct DmaSpec {
  std::int64_t engines = 0;           // that reach peers; each runs one copy at a time
  std::int64_t peer_concurrency = 0;  // peer copies of one GPU that make progress together
  BytesPerSecond bandwidth;           // of one engine
  Time first_command;                 // from a copy at the head of its queue to its first byte
  Time next_command;                  // the same for a copy queued behind another copy of its queue
  Bytes bytes_in_flight;
  // Copies within the GPU, where drivers run them as a kernel: no engine, no slot.
  std::optional<BytesPerSecond> local_bandwidth = {};
  Time local_command = {};
  static void describe(config::Describer<DmaSpec>& d);
};

}  // namespace moire::models::dma
