#include "models/hardware/link/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::link {

void PortSpec::describe(config::Describer<PortSpec>& d) {
  d.component("scale_up_port", "The port through which a GPU stores to and loads from the other GPUs of its node.");
  d.field("links", &PortSpec::links, "Number of links of the port").range(1, 1024);
  d.field("link_bandwidth", &PortSpec::link_bandwidth, "Raw bandwidth of one link in one direction").positive();
  d.field("payload_efficiency", &PortSpec::payload_efficiency,
          "Share of the raw bandwidth that the payload of stores from CUs to peers reaches")
      .range(0.01, 1);
  d.field("copy_efficiency", &PortSpec::copy_efficiency,
          "Share of the raw bandwidth that the payload of DMA copies reaches; absent: payload_efficiency")
      .range(0.01, 1);
  d.field("add_efficiency", &PortSpec::add_efficiency,
          "Share of the raw bandwidth that the payload of bulk additions from CUs to peers' memory reaches; absent: "
          "payload_efficiency")
      .range(0.01, 1)
      .optional();
  d.field("multicast_efficiency", &PortSpec::multicast_efficiency,
          "Share of the raw bandwidth that payload reaches when CUs store to all GPUs of the node at once and load "
          "sums over all of them, which the switch makes (NVLS); absent: the switch cannot do this")
      .range(0.01, 1)
      .optional();
  d.field("load_latency", &PortSpec::load_latency,
          "Latency of a load from a peer's memory over an idle link; absent: twice store_latency")
      .positive()
      .optional();
  d.field("stripe", &PortSpec::stripe,
          "Consecutive bytes of a peer's memory that stores reach over one group of links; the next ones belong to the "
          "next group")
      .range(Bytes{16}, Bytes{65536})
      .or_default();
  d.field("stripe_ways", &PortSpec::stripe_ways, "Number of these groups; 1: stores use all links alike")
      .range(1, 32)
      .or_default();
  d.field("stripe_cost", &PortSpec::stripe_cost,
          "Additional link time of the bytes that exceed the equal share of the busiest group")
      .range(0, 32)
      .or_default();
  d.field("packet", &PortSpec::packet, "Bytes of a peer's memory, aligned to this size, that one packet can store")
      .range(Bytes{16}, Bytes{65536})
      .or_default();
  d.field("header", &PortSpec::header,
          "Bytes of a packet besides those that it stores, so that rows shorter than a packet take longer; "
          "payload_efficiency holds for full packets")
      .range(Bytes{0}, Bytes{1024})
      .or_default();
  d.field("store_latency", &PortSpec::store_latency,
          "Time from issuing a store until it is visible at the peer, over an idle link")
      .positive();
  d.field("store_window_per_cu", &PortSpec::store_window_per_cu,
          "Bytes of stores that one CU can have in flight, measured with stores to a peer")
      .positive()
      .fractional();
  d.field(
       "store_return", &PortSpec::store_return,
       "Time from the arrival of a posted store at the peer until a fence of the workgroup that issued it is notified")
      .or_default();
  d.field("fence", &PortSpec::fence, "Time of a system-wide fence of a workgroup that has no stores in flight")
      .or_default();
  d.field("first_fence", &PortSpec::first_fence,
          "Least time of the first fence that a kernel executes on a GPU; no fence of the kernel ends before this one. "
          "Absent: the first fence is like the others")
      .optional();
  d.field(
       "fence_beside_loads", &PortSpec::fence_beside_loads,
       "How much longer a fence takes if loads of its CU from the memory are under way, such as those of the next tile")
      .or_default();
  d.field("fence_behind_stores", &PortSpec::fence_behind_stores,
          "Share of the bytes that other CUs have in flight to peers (store_window_per_cu each) which the links take "
          "before a fence ends, because its own request lies behind them")
      .range(0, 1)
      .or_default();
  d.field("kernel_end", &PortSpec::kernel_end,
          "How much longer a kernel takes to end that has stored to other GPUs of its node, because its stores are "
          "visible to all GPUs then; absent: `store_latency`")
      .optional();
}

}  // namespace moire::link
