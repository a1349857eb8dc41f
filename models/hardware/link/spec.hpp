// The specification of scale-up links (NVLink, xGMI, PCIe), over which the GPUs of a node access each other's memory.
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
  double payload_efficiency = 1;          // payload share of the raw bandwidth for peer stores of CUs
  std::optional<double> copy_efficiency;  // the same for DMA engines; absent: as stores
  std::optional<double> add_efficiency;   // the same for bulk additions of CUs; absent: as stores
  // The same for stores that the switch copies to all GPUs of the node, and for loads that it adds over all GPUs
  // (NVLS). Absent: the switch can do neither.
  std::optional<double> multicast_efficiency;
  std::optional<Time> load_latency;  // of a load from a peer's memory over an idle link; absent: 2 x store_latency
  // Consecutive stripes of a peer's addresses belong to `stripe_ways` groups of links in turn. `stripe_cost`: link time
  // that the bytes add that exceed a group's equal share (stripes.hpp). One way: stores use all links alike.
  Bytes stripe{2048};
  std::int64_t stripe_ways = 1;
  double stripe_cost = 0;
  // A store of up to `packet` bytes to one place travels as one packet with `header` more bytes. payload_efficiency
  // holds for full packets.
  Bytes packet{128};
  Bytes header{0};
  Time store_latency;         // from the issue of a store until it is visible at the peer, over an idle link
  Bytes store_window_per_cu;  // bytes of stores that one CU can have in flight, measured at a peer
  Time store_return;          // from a store's arrival at the peer until its workgroup knows (for its fence)
  Time fence;                 // time of a system-wide fence with no stores in flight
  // A kernel's first fence on a GPU takes at least this time, and no fence of the kernel ends before it. Absent:
  // `fence`.
  std::optional<Time> first_fence;
  Time fence_beside_loads;         // by how much a fence takes longer if loads of its CU from the memory are under way
  double fence_behind_stores = 0;  // share of what other CUs have in flight that the links take before a fence ends
  std::optional<Time> kernel_end;  // how much longer a kernel that stored to peers takes to end; absent: store_latency
  static void describe(config::Describer<PortSpec>& d);

  BytesPerSecond payload_bandwidth() const {
    return link_bandwidth * (static_cast<double>(links) * payload_efficiency);
  }
};

// How the ports of a node are wired.
enum class Wiring {
  none,       // GPUs of a node reach each other only through their NICs
  nvswitch,   // every port is connected to a non-blocking switch; each direction of a port is a capacity
  full_mesh,  // every pair of GPUs has dedicated links
  pcie,       // every GPU has one slot of a host bridge, with a capacity upstream and one downstream
};

}  // namespace moire::link
