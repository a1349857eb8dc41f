#include "models/hardware/link/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::link {

void PortSpec::describe(config::Describer<PortSpec>& d) {
  d.component("scale_up_port", "The port through which a GPU stores to and loads from peers of its node.");
  d.field("links", &PortSpec::links, "Links of the port").range(1, 1024);
  d.field("link_bandwidth", &PortSpec::link_bandwidth, "Raw bandwidth of one link in one direction").positive();
  d.field("payload_efficiency", &PortSpec::payload_efficiency,
          "Payload share of the raw bandwidth that peer stores of CUs reach")
      .range(0.01, 1);
  d.field("copy_efficiency", &PortSpec::copy_efficiency, "The same for DMA engines; absent: as stores").range(0.01, 1);
  d.field(
       "multicast_efficiency", &PortSpec::multicast_efficiency,
       "The same for stores to all GPUs of the node at once and loads of sums over all of them, which the switch makes "
       "(NVLS); absent: the switch cannot")
      .range(0.01, 1)
      .optional();
  d.field("load_latency", &PortSpec::load_latency,
          "Latency of a load from a peer's memory, idle link; absent: there and back take store_latency each")
      .positive()
      .optional();
  d.field("store_latency", &PortSpec::store_latency, "From a store's issue to its visibility at the peer, idle link")
      .positive();
  d.field("store_window_per_cu", &PortSpec::store_window_per_cu, "Bytes of peer stores one CU can have under way")
      .positive()
      .fractional();
  d.field("store_return", &PortSpec::store_return,
          "From the arrival of a posted store at the peer until a fence of the workgroup that issued it knows")
      .or_default();
  d.field("fence", &PortSpec::fence, "A system-wide fence of a workgroup that has nothing under way").or_default();
}

}  // namespace moire::link
