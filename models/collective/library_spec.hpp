// How a collective library (RCCL, NCCL) runs a collective as a kernel: a profile with sources, configs/libraries.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::models::collective {

struct LibrarySpec {
  std::string name;
  std::int64_t max_channels = 0;       // workgroups of the kernel
  std::int64_t channels_per_peer = 1;  // that share the traffic with one peer
  std::int64_t threads = 0;            // of a channel's workgroup
  std::int64_t registers_per_thread = 0;
  Bytes slot;              // one step of the FIFO between two ranks
  std::int64_t slots = 0;  // of a FIFO
  Bytes bytes_in_flight;   // of a channel's workgroup
  Time setup;              // in the kernel before the first step: work description, connection state
  Time step_overhead;      // per slot: poll, barrier, fence, flag
  bool staged = true;      // through a FIFO in the receiver's memory, then copied to the user buffer
  static void describe(config::Describer<LibrarySpec>& d);
};

}  // namespace moire::models::collective
