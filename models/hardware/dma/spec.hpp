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
  std::int64_t engines = 0;           // that reach peers; each runs one copy at a time
  std::int64_t peer_concurrency = 0;  // peer copies of one GPU that make progress together
  BytesPerSecond bandwidth;           // of one engine
  // What a command takes before the copy's first byte. All of first_command passes from the moment the copy may begin;
  // most of it beside the copies ahead. The engine itself is held up for the rest only: next_command behind a copy of
  // the same queue, switch_command behind one of another (absent: as first_command).
  Time first_command;
  Time next_command;
  std::optional<Time> switch_command{};
  Time completion{};  // from a copy's last byte to the moment when kernels behind it in its queue can see its end
  // Copies within the GPU are done by a kernel of the driver and begin after this; absent: an engine does them.
  std::optional<Time> local_command{};
  std::optional<Time> queued_enqueue{};  // host time of a copy behind another of its queue; absent: as of any operation
  Bytes bytes_in_flight;
  static void describe(config::Describer<DmaSpec>& d);
};

}  // namespace moire::dma
