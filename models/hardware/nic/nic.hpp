// One NIC: accepts puts from the GPUs that use it, or from a host thread, and passes them to the scale-out network.
//
//   thread: WQE build -> doorbell -> [queue pair: FIFO, 1 / rate] -> [NIC: FIFO, 1 / rate] -> PCIe latency -> network
//   -> (put with a flag) flag latency -> receiver
// (WQE: work queue entry, the description of a put that the NIC reads.)
//
// Without other traffic, data and flag of a put are visible at the receiver after
//   t = wqe_build + doorbell + w / queue_pair_message_rate + w / message_rate + pcie_latency
//       + sum of link latencies + bytes / payload_bandwidth() + flag_latency,
// where w is the number of work requests: 2 for a put with a flag, else 1. The other names are members of NicSpec. A
// put that a host thread posts takes proxy_latency + proxy_time more, between WQE build and doorbell. The thread serves
// one put at a time.
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
  // Messages to one destination on one queue pair stay in order. If a GPU issues the put, the number is taken modulo
  // NicSpec::queue_pairs.
  std::uint32_t queue_pair = 0;
  Bytes bytes;       // >= 1; a flag without data has 8 bytes
  bool flag = true;  // a flag follows the data, as a second work request of the same queue pair
  Issuer issuer = Issuer::gpu;
  core::Receiver* receiver = nullptr;  // its arrives() is called when data and flag are visible
  std::uint64_t payload = 0;
  Time after{};  // time until the data is in the memory that the NIC reads; the issuing thread begins only then
};

class Nic final : private core::EventSink {
 public:
  // `calendar` and `network` must outlive the NIC. `component` determines the order of the NIC's events among all
  // events of the same picosecond.
  Nic(core::Calendar& calendar, core::Network& network, core::EndpointId endpoint, const NicSpec& spec,
      std::uint32_t component = 0);

  // Posts the put now, and returns the time at which the issuing thread is free again. Several GPUs and threads may
  // post to one NIC.
  Time post(const Put& put);

  core::EndpointId endpoint() const { return endpoint_; }
  std::uint64_t posted() const { return posted_; }
  std::uint64_t injected() const { return injected_; }

 private:
  // A put that the network does not have yet.
  struct Posted {
    core::EndpointId destination;
    std::uint32_t queue_pair;
    Bytes bytes;
    std::uint64_t payload;
    std::uint16_t receiver;  // index in receivers_
    bool flag;
    Issuer issuer;

    std::int64_t work_requests() const { return flag ? 2 : 1; }
    std::uint64_t pair() const;  // number of its queue pair among all queue pairs of the NIC
  };

  void fire(std::uint64_t event) override;
  void fires_next(std::uint64_t event) const override;
  void told(std::uint32_t index, Time at);  // the issuing thread begins with the put at `at`, now or earlier
  void tell_until(Time at);                 // tells the puts of untold_ whose time has come
  void book(std::uint32_t index, Time at);
  void schedule_untold();             // makes events of untold_
  void fetched(std::uint32_t index);  // the work request has left its queue pair
  void next_of_thread();
  void inject(const Posted& put);  // the first payload byte arrives from memory; the network takes over

  core::Calendar& calendar_;
  core::Network& network_;
  core::EndpointId endpoint_;
  NicSpec spec_;
  std::uint32_t component_;
  Time queue_pair_service_;                                  // time of one work request in its queue pair
  Time service_;                                             // time of one work request in the NIC
  Time free_;                                                // end of the NIC's last booked work request
  Time proxy_free_;                                          // end of the host thread's last booked put
  std::unordered_map<std::uint64_t, Time> queue_pair_free_;  // by busy queue pair: end of its last booked work request
  // True as long as no GPU has posted, if the host thread takes longer for a put than its queue pair and the NIC. Puts
  // then never wait in a queue pair or in the NIC. So the injection time of a put is known at told(), injections happen
  // in the order of the puts, and only the next injection is an event in the calendar.
  bool thread_alone_;
  struct OfThread {
    Posted put;
    Time injects;
  };
  std::deque<OfThread> of_thread_;
  // Puts that the thread begins later (Put::after), in this order. As long as earlier puts wait for their injection,
  // told() may come late, because these puts are injected after the earlier ones. So they need no event.
  struct Untold {
    std::uint32_t index;
    Time at;
  };
  std::deque<Untold> untold_;
  std::vector<core::Receiver*> receivers_;  // of all puts: nearly always the same one
  // Puts that are not in of_thread_. Not a vector, because a vector that grows has up to twice the memory that it
  // needs.
  std::deque<Posted> puts_;
  std::vector<std::uint32_t> spare_;
  std::uint64_t posted_ = 0, injected_ = 0;
};

}  // namespace moire::nic
