// What a capacity has served until now, and until any moment of the recent past.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::core {

class LoadHistory {
 public:
  // Lets served() look back by `window` from now on. A smaller window than before changes nothing.
  void look_back(Time window) { window_ = std::max(window_, window); }
  // The load is `units_per_second` from `now` on. Calls are in the order of time.
  void change(Time now, double units_per_second);
  // Returns the units served until `at`, which is at most `window` before the last change, or later.
  double served(Time at) const;

 private:
  struct Piece {
    Time from;
    double load;    // units per second
    double served;  // units until `from`
  };
  Time window_{};
  std::vector<Piece> pieces_;  // in the order of time
  std::size_t first_ = 0;      // in pieces_; those before it are older than the window
};

}  // namespace moire::core
