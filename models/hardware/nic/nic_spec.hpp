// What a NIC can do, as its datasheet and microbenchmarks say. README.md lists values with their sources.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::nic {

struct NicSpec {
  // The wire.
  BytesPerSecond bandwidth;       // of the port, per direction, after line coding (HDR: 200 Gb/s)
  double payload_efficiency = 1;  // payload share of a full packet (headers, CRCs)
  Time latency;                   // through one NIC, between host interface and wire
  // Work requests.
  PerSecond message_rate;                            // all queue pairs together
  std::optional<PerSecond> queue_pair_message_rate;  // of one queue pair; absent: only the NIC limits
  std::int64_t queue_pairs = 1;                      // to each peer
  Time wqe_build;                                    // on the issuing thread, for one put
  Time doorbell;                                     // from the doorbell store to the NIC that sees it
  // The host interface.
  BytesPerSecond pcie_bandwidth;  // payload, per direction
  Time pcie_latency;              // from a work request to the first payload byte read
  Time flag_latency;              // from the last byte at the receiver's NIC to a flag that a polling thread sees
  // Puts that a host thread posts for the GPU.
  Time proxy_latency;  // from the GPU's descriptor to the host thread that sees it
  Time proxy_time;     // host thread time per put; one thread per NIC

  BytesPerSecond wire_bandwidth() const { return bandwidth * payload_efficiency; }
  // All traffic of a direction passes PCIe and the wire in series: two FIFO servers with the same traffic are one
  // server at the lower rate.
  BytesPerSecond payload_bandwidth() const {
    return wire_bandwidth() < pcie_bandwidth ? wire_bandwidth() : pcie_bandwidth;
  }

  static void describe(config::Describer<NicSpec>& d);
};

}  // namespace moire::nic
