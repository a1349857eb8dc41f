// One NIC: accepts puts from the GPUs (or the host thread) behind it and passes them to the scale-out network.
//
//   thread: WQE build -> doorbell -> [queue pair: FIFO, 1 / rate] -> [NIC: FIFO, 1 / rate] -> PCIe latency -> network
//   -> (put with a flag) flag latency -> receiver
//
// A put alone is visible after
//   t = wqe_build + doorbell + w / queue_pair_message_rate + w / message_rate + pcie_latency
//       + sum of link latencies + bytes / min(wire payload, PCIe) + flag_latency,   w = 2 with a flag, else 1.
// Puts of a host thread spend proxy_latency + proxy_time (one put at a time) between WQE build and doorbell.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "models/hardware/nic/nic_spec.hpp"
#include "sim/core/network.hpp"

namespace moire::nic {

enum class Issuer { gpu, proxy };

struct Put {
  core::EndpointId destination = 0;
  // Messages of one (destination, queue pair) stay in order. For GPUs the number is taken modulo the spec's
  // queue_pairs.
  std::uint32_t queue_pair = 0;
  Bytes bytes;       // >= 1; a flag without data has 8 bytes
  bool flag = true;  // a flag follows the data, as a second work request of the same queue pair
  Issuer issuer = Issuer::gpu;
  core::Receiver* receiver = nullptr;  // learns when data and flag are visible
  std::uint64_t payload = 0;
  Time after{};  // until the payload is in memory; the NIC's thread learns of the put only then
};

class Nic final : private core::EventSink {
 public:
  // References must outlive the NIC. `component` orders its events among those of one picosecond.
  Nic(core::Calendar& calendar, core::Network& network, core::EndpointId endpoint, const NicSpec& spec,
      std::uint32_t component = 0);

  // Posts the put now, and returns the time at which the issuing thread is free again. Several GPUs and threads may
  // post to one NIC.
  Time post(const Put& put);

  core::EndpointId endpoint() const { return endpoint_; }
  std::uint64_t posted() const { return posted_; }
  std::uint64_t injected() const { return injected_; }

 private:
  void fire(std::uint64_t event) override;
  void fires_next(std::uint64_t event) const override;
  void told(std::uint32_t index);     // the thread that rings the doorbell has received the put
  void fetched(std::uint32_t index);  // the work request has left its queue pair
  void next_of_thread();
  void inject(std::uint32_t index);  // the first payload byte arrives from memory; the network takes over

  core::Calendar& calendar_;
  core::Network& network_;
  core::EndpointId endpoint_;
  NicSpec spec_;
  std::uint32_t component_;
  Time queue_pair_service_;  // of one work request
  Time service_;
  Time free_;                                                // end of the NIC's last booked work request
  Time proxy_free_;                                          // end of the host thread's last booked put
  std::unordered_map<std::uint64_t, Time> queue_pair_free_;  // only of queue pairs with work requests
  // True as long as only a host thread has posted, if it posts more slowly than queue pairs and NIC work. Then nothing
  // queues behind it, so the injection time is known when a put is received, in the order of the puts; only the next
  // injection is an event.
  bool thread_alone_;
  struct OfThread {
    std::uint32_t index;
    Time injects;
  };
  std::deque<OfThread> of_thread_;
  std::vector<Put> puts_;
  std::vector<std::uint32_t> spare_;
  std::uint64_t posted_ = 0, injected_ = 0;
};

}  // namespace moire::nic
