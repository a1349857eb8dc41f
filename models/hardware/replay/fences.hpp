// What the fences of a GPU's workgroups wait for (fences.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/hardware/part/services.hpp"

namespace moire::replay {

// The fences of a CU: the workgroups whose fence the CU executes now, and those that asked for one meanwhile.
struct Fences {
  std::vector<std::uint32_t> together, next;
};

// Work of a GPU's CUs that stores to other GPUs.
class PeerStores {
 public:
  void begin(part::CuId cu) {
    if (cu >= of_cu_.size()) of_cu_.resize(cu + 1);
    ++under_way_;
    ++of_cu_[cu];
  }
  void end(part::CuId cu, Time now) {
    --under_way_;
    --of_cu_[cu];
    if (cu != last_cu_) before_ = last_;
    last_ = now;
    last_cu_ = cu;
  }
  // Returns when all that CUs other than `cu` have sent until `now` is known to have arrived, `round_trip` later.
  Time known(part::CuId cu, Time now, Time round_trip) const {
    const std::uint32_t own = cu < of_cu_.size() ? of_cu_[cu] : 0;
    const Time sent = under_way_ > own ? now : cu == last_cu_ ? before_ : last_;
    return sent == Time{} ? now : std::max(now, sent + round_trip);
  }

 private:
  std::uint32_t under_way_ = 0;
  std::vector<std::uint32_t> of_cu_;  // the same by CU
  // When the last one ended, on which CU, and when the last one of another CU ended.
  Time last_, before_;
  part::CuId last_cu_ = 0;
};

}  // namespace moire::replay
