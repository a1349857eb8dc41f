#include "models/hardware/nic/nic_spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::nic {

void NicSpec::describe(config::Describer<NicSpec>& d) {
  d.component("nic", "One NIC: its wire, work requests and host interface. A file in configs/hardware.");
  d.sourced();
  d.field("bandwidth", &NicSpec::bandwidth, "Port speed per direction, after line coding")
      .positive()
      .example("200 Gb/s");
  d.field(
       "payload_efficiency", &NicSpec::payload_efficiency,
       "Payload share of a full packet, MTU / (MTU + headers): 0.994 for InfiniBand with MTU 4096, 0.980 for RoCE v2")
      .range(0.1, 1)
      .example("0.994");
  d.field("latency", &NicSpec::latency, "Latency of one NIC, between host interface and wire").example("250 ns");
  d.field("message_rate", &NicSpec::message_rate, "Work requests per second over all queue pairs")
      .positive()
      .example("215 M/s");
  d.field("queue_pair_message_rate", &NicSpec::queue_pair_message_rate,
          "Work requests per second of one queue pair; absent: only message_rate limits it")
      .positive();
  d.field("queue_pairs", &NicSpec::queue_pairs,
          "Queue pairs to each peer that GPUs post to; a host thread has its own queue pairs for each connection")
      .range(1, 1024)
      .or_default();
  d.field("wqe_build", &NicSpec::wqe_build, "Time that the issuing thread takes to build one work request");
  d.field("doorbell", &NicSpec::doorbell, "Time from the store to the doorbell until the NIC sees it");
  d.field("pcie_bandwidth", &NicSpec::pcie_bandwidth, "Payload bandwidth of the host interface per direction")
      .positive()
      .example("26 GB/s");
  d.field("pcie_latency", &NicSpec::pcie_latency,
          "Time from a work request until the first payload byte is read from memory");
  d.field("flag_latency", &NicSpec::flag_latency,
          "Time from the last byte at the receiver's NIC until a polling thread sees the flag");
  d.field("proxy_latency", &NicSpec::proxy_latency, "Time from the GPU's descriptor until the host thread sees it");
  d.field("proxy_time", &NicSpec::proxy_time, "Time that the host thread takes per put; one thread serves a NIC");
}

}  // namespace moire::nic
