// The memory of a node's host, and the slots (PCIe) through which GPUs copy into it and out of it.
#pragma once

#include <string>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::host {

struct MemorySpec {
  std::string name;
  BytesPerSecond slot_out;  // copies of one GPU into the memory
  BytesPerSecond slot_in;   // copies out of the memory into one GPU
  BytesPerSecond slot;      // both directions of one GPU together
  // Bytes in the host's caches that copies may occupy. If copies use more bytes of the memory again and again, this
  // share of them is in the caches.
  Bytes cache;
  BytesPerSecond write;      // copies of all GPUs into the memory, beyond its caches
  BytesPerSecond read;       // copies out of the memory or its caches into all GPUs
  BytesPerSecond bandwidth;  // all copies together that the caches do not hold
  // Rate of a copy out of the memory relative to a copy into it, if both wait for the memory. Writes to a host are
  // posted, but a read occupies one of the requests that the slot may have in flight.
  double read_share = 1;
  Time switch_command;  // from the end of a copy until the first byte of a copy of another queue by the same engine
  Time busy_command;    // by how much a command behind a copy takes longer while the GPU copies in the other direction
  // Three times of a pair of copies, of which the first goes into the memory and the second out of it.
  Time calls;          // host time to enqueue the second copy and the event between the two
  Time poll_interval;  // between two checks of the second copy's queue whether the first copy has ended
  Time hand_over;      // from the check that finds this end until the first byte of the second copy moves
  static void describe(config::Describer<MemorySpec>& d);
};

}  // namespace moire::host
