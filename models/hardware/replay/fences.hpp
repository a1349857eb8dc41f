// What the fences of a GPU's workgroups wait for (fences.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::replay {

// The fences of a CU: the workgroups whose fence the CU executes now, and those that asked for one meanwhile.
struct Fences {
  std::vector<std::uint32_t> together, next;
};

// Work of a GPU's CUs that stores to other GPUs.
class PeerStores {
 public:
  explicit PeerStores(const link::PortSpec& port) : port_(port) {}
  void begin(part::CuId cu, double bytes) {
    if (cu >= of_cu_.size()) of_cu_.resize(cu + 1);
    Stores& own = of_cu_[cu];
    ++under_way_;
    ++own.under_way;
    const double sent = std::min(bytes, port_.store_window_per_cu.value - own.sent);
    own.sent += sent;
    sent_ += sent;
  }
  void end(part::CuId cu, Time now) {
    Stores& own = of_cu_[cu];
    --under_way_;
    if (--own.under_way == 0) sent_ -= std::exchange(own.sent, 0);
    if (under_way_ == 0) sent_ = 0;
    if (cu != last_cu_) before_ = last_;
    last_ = now;
    last_cu_ = cu;
  }
  // Returns when all that CUs other than `cu` have sent until `now` is known to have arrived: after a round trip, or as
  // soon as the links have taken fence_behind_stores of it.
  Time known(part::CuId cu, Time now) const {
    const Stores own = cu < of_cu_.size() ? of_cu_[cu] : Stores{};
    const Time round_trip = port_.store_latency + port_.store_return;
    if (under_way_ > own.under_way) {
      const double ahead = std::max(0., sent_ - own.sent) * port_.fence_behind_stores;
      return now + std::max(round_trip, Time::from_seconds(ahead / port_.payload_bandwidth().value));
    }
    const Time sent = cu == last_cu_ ? before_ : last_;
    return sent == Time{} ? now : std::max(now, sent + round_trip);
  }

 private:
  struct Stores {
    std::uint32_t under_way = 0;
    double sent = 0;  // bytes in flight, at most the window of the CU
  };
  const link::PortSpec& port_;
  std::uint32_t under_way_ = 0;
  double sent_ = 0;
  std::vector<Stores> of_cu_;
  // When the last one ended, on which CU, and when the last one of another CU ended.
  Time last_, before_;
  part::CuId last_cu_ = 0;
};

}  // namespace moire::replay
