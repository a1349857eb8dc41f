// Scale-up links: how the GPUs of one node reach each other's memory (NVLink, xGMI, PCIe).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::link {

// The port of one GPU: `links` links, each `link_bandwidth` per direction.
struct PortSpec {
  std::int64_t links = 0;
  BytesPerSecond link_bandwidth;
  double payload_efficiency = 1;          // payload share of the raw bandwidth that peer stores of CUs reach
  std::optional<double> copy_efficiency;  // the same for DMA engines; absent: as stores
  // The same for stores to all GPUs of the node and sums of what all of them have, which the switch makes; absent: it
  // cannot.
  std::optional<double> multicast_efficiency;
  std::optional<Time> load_latency;  // of a load from a peer's memory, idle link
  Time store_latency;                // from a store's issue to its visibility at the peer, idle link
  Bytes store_window_per_cu;         // bytes of peer stores one CU can have under way
  Time store_return;                 // from a store's arrival at the peer until a fence of its issuer knows it
  Time fence;                        // a system-wide fence with nothing under way
  static void describe(config::Describer<PortSpec>& d);
};

// How the ports of a node are wired.
enum class Wiring {
  none,       // GPUs of a node reach each other through their NICs only
  nvswitch,   // every port into a non-blocking switch: egress and ingress port are the capacities
  full_mesh,  // links of their own between every pair
  pcie,       // host bridge: one slot per GPU, up to it and down again
};

}  // namespace moire::link
