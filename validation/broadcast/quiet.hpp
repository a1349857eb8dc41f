// Judges whether every rank's thread has a core to itself before and after a run.
#pragma once

#include <algorithm>
#include <vector>

#include "chain.hpp"
#include "cores.hpp"

class Quiet {
 public:
  Quiet(Chain& chain, bool any_core) : chain_(chain), any_core_(any_core) {
    choose_cpus();
    for (int i = 0; i < 200; ++i) look();
  }
  // Binds the ranks' threads and this one to the CPUs that are fastest now.
  void choose_cpus() {
    if (any_core_) return;
    std::vector<int> cpus = fastest_cpus(chain_.ranks() + 1);
    bind_to(cpus.back());
    chain_.bind(cpus);
  }
  void begin() { before_ = look(); }
  bool ended() { return std::max(before_, look()) <= kSlower * fastest_ || any_core_; }

 private:
  // A thread that shares its core takes about 1.5 times as long for the loop (64 CPUs of a virtual machine,
  // 2026-11-27).
  static constexpr double kSlower = 1.15;
  double look() {
    if (any_core_) return 0;
    const double us = chain_.slowest_loop_us();
    fastest_ = std::min(fastest_, us);
    return us;
  }

  Chain& chain_;
  bool any_core_;
  double before_ = 0, fastest_ = 1e9;
};
