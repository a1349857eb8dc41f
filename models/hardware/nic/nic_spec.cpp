#include "models/hardware/nic/nic_spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::nic {

void NicSpec::describe(config::Describer<NicSpec>& d) {
  d.component("nic", "One NIC: wire, work requests, host interface. A file of configs/hardware.");
  d.sourced();
  d.field("bandwidth", &NicSpec::bandwidth, "Port speed per direction, after line coding")
      .positive()
      .example("200 Gb/s");
  d.field("payload_efficiency", &NicSpec::payload_efficiency,
          "Payload share of a full packet: MTU / (MTU + headers); InfiniBand, MTU 4096: 0.994, RoCE v2: 0.980")
      .range(0.1, 1)
      .example("0.994");
  d.field("latency", &NicSpec::latency, "Through one NIC, between host interface and wire").example("250 ns");
  d.field("message_rate", &NicSpec::message_rate, "Work requests per second, all queue pairs together")
      .positive()
      .example("215 M/s");
  d.field("queue_pair_message_rate", &NicSpec::queue_pair_message_rate,
          "Work requests per second of one queue pair; absent: only the NIC's own rate limits")
      .positive();
  d.field("queue_pairs", &NicSpec::queue_pairs,
          "Queue pairs to each peer that GPUs post to; a host thread has some for each connection")
      .range(1, 1024)
      .or_default();
  d.field("wqe_build", &NicSpec::wqe_build, "Time of the issuing thread to build one work request");
  d.field("doorbell", &NicSpec::doorbell, "From the doorbell store to the NIC that sees it");
  d.field("pcie_bandwidth", &NicSpec::pcie_bandwidth, "Payload bandwidth of the host interface per direction")
      .positive()
      .example("26 GB/s");
  d.field("pcie_latency", &NicSpec::pcie_latency, "From a work request to the first payload byte read from memory");
  d.field("flag_latency", &NicSpec::flag_latency,
          "From the last byte at the receiver's NIC to a flag that a polling thread sees");
  d.field("proxy_latency", &NicSpec::proxy_latency, "From the GPU's descriptor to the host thread that sees it");
  d.field("proxy_time", &NicSpec::proxy_time, "Time of the host thread per put; one thread serves a NIC");
}

}  // namespace moire::nic
