// Errors of one plan: the first of them, then how many more there are.
#pragma once

#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

class Complaints {
 public:
  static constexpr std::size_t most = 20;

  explicit Complaints(config::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;
  ~Complaints() {
    if (count_ > most) {
      diagnostics_.error(last_, std::to_string(count_ - most) + " more errors are not shown", "correct those above");
    }
  }

  void error(const config::Place& place, std::string what, std::string remedy) {
    if (++count_ <= most) diagnostics_.error(place, std::move(what), std::move(remedy));
    last_ = place;
  }
  bool none() const { return count_ == 0; }

 private:
  config::Diagnostics& diagnostics_;
  std::size_t count_ = 0;
  config::Place last_;
};

}  // namespace moire::mscclpp
