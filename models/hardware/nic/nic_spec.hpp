// Properties of a NIC, as datasheets and microbenchmarks state them. README.md lists values with their sources.
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
  BytesPerSecond bandwidth;       // per direction, after line coding (HDR: 200 Gb/s)
  double payload_efficiency = 1;  // payload share of a full packet (without headers and CRCs)
  Time latency;                   // time through one NIC, between host interface and wire
  // Work requests.
  PerSecond message_rate;                            // work requests per second, over all queue pairs
  std::optional<PerSecond> queue_pair_message_rate;  // of one queue pair; absent: only message_rate limits
  std::int64_t queue_pairs = 1;                      // per peer
  Time wqe_build;                                    // time for which a put keeps the issuing thread busy
  Time doorbell;                                     // from the doorbell store until the NIC sees it
  // The host interface.
  BytesPerSecond pcie_bandwidth;  // payload, per direction
  Time pcie_latency;              // from a work request until the first payload byte is read
  Time flag_latency;              // from the last byte at the receiver's NIC until a polling thread sees the flag
  // Puts that a host thread posts for the GPU.
  Time proxy_latency;  // from the GPU's store of the put's description until the host thread sees it
  Time proxy_time;     // time for which a put keeps the host thread busy; there is one thread per NIC

  BytesPerSecond wire_bandwidth() const { return bandwidth * payload_efficiency; }
  // Returns the payload rate of PCIe and wire together. All traffic of a direction passes PCIe and the wire one after
  // the other, and two FIFO servers in series with the same traffic act like one server at the lower rate.
  BytesPerSecond payload_bandwidth() const {
    return wire_bandwidth() < pcie_bandwidth ? wire_bandwidth() : pcie_bandwidth;
  }

  static void describe(config::Describer<NicSpec>& d);
};

}  // namespace moire::nic
