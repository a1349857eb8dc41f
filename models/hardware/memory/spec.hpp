// Device memory of one GPU: HBM and the last-level cache in front of it.
#pragma once

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::memory {

struct HbmSpec {
  Bytes capacity;
  BytesPerSecond peak;       // pins x rate (datasheet)
  BytesPerSecond bandwidth;  // what streams reach, read plus written
  double write_cost = 1;     // HBM time of a written byte over that of a read byte
  // Extra time of traffic with a share x of writes over both alone: turnaround x (4 x (1 - x))^turnaround_exponent.
  double turnaround = 0;
  double turnaround_exponent = 1;
  double turnaround_in_order = 1;  // share of it where all workgroups walk through memory together
  Bytes access_granularity;        // bytes fetched for a random access of any smaller size
  Bytes random_access_cost;        // what a random access takes beside its bytes, as bytes
  Time unloaded_latency;
  // Loads that are waited for together take as long as the slowest: this longer for each factor e in their number.
  // Under load they wait for the slowest, too. 0: all take the same time.
  Time latency_spread;
  // Loaded latency L(u) = unloaded_latency x (1 + latency_growth x u^latency_exponent) below saturation, u = load /
  // bandwidth; at saturation the sharing law sets it (design note "sharing").
  double latency_growth = 0;
  double latency_exponent = 1;
  static void describe(config::Describer<HbmSpec>& d);
};

struct CacheSpec {
  Bytes capacity;
  double usable_share = 1;  // of the capacity, for rows read at random
  BytesPerSecond bandwidth;
  Time hit_latency;
  Bytes line{128};
  bool in_groups = false;  // the sum of caches of the groups of CUs, each its own
  static void describe(config::Describer<CacheSpec>& d);

  // At `share` of the GPU's clock, with what goes with it (memory::declaration).
  CacheSpec at_clock(double share) const;
};

}  // namespace moire::memory
