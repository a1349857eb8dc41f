// The way of loads from memory to the CUs. Loads arrive a latency L after the memory has served them. While a memory is
// busy, this changes nothing, because loads of other workgroups are on their way meanwhile. But a memory that was idle
// delivers nothing for the time L after the first request. In the sharing law it serves from the first request on, so a
// phase that begins at s and ends at t must also satisfy
//     t >= s + A + S(s, t) / rate
// Here S is what the memory serves from s to t, and A is the time of its full rate that it did not use from s - L to s
// (the service curve of a server with a rate and a latency; Cruz, A calculus for network delay, 1991).
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "models/hardware/part/services.hpp"

namespace moire::cu {

class MemoryPipe {
 public:
  explicit MemoryPipe(part::Site& site) : site_(site) {}

  // What is known when a phase begins.
  struct Filling {
    Time begin{};
    double missing = 0;  // A in seconds
    double served = 0;   // units that the memory had served at `begin`
  };
  // Phases with this latency, in seconds, will begin. Must be called before the first of all phases begins, so that the
  // pipe knows how far it will look back.
  void expect(double latency) { longest_ = std::max(longest_, Time::from_seconds(latency)); }
  Time looks_back() const { return longest_; }
  // Returns the filling of a phase that begins now, or nothing if it waits for no loads. `latency`: L in seconds.
  // Phases with the same `kind` use the same loads in the same way, so that one of them can use the time in which
  // others wait for their last loads.
  std::optional<Filling> begin(core::CapacityId memory, double latency, std::uint64_t kind);
  // Returns how long a phase that the sharing law ends now waits for the rest of its loads.
  Time rest(core::CapacityId memory, const Filling& filling, std::uint64_t kind);

 private:
  // The time in which phases of one kind wait for the rest of their loads, from the first one's end.
  struct Draining {
    Time from{}, to{};
  };

  part::Site& site_;
  Time longest_{};  // latency
  std::unordered_map<std::uint64_t, Draining> draining_;
};

}  // namespace moire::cu
