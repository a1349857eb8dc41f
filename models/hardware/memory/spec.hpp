// Device memory of one GPU: HBM and the last-level cache in front of it.
#pragma once

#include <cstdint>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::memory {

struct HbmSpec {
  Bytes capacity;
  BytesPerSecond peak;       // pin count x pin rate (datasheet)
  BytesPerSecond bandwidth;  // that streams reach, reads and writes together
  double write_cost = 1;     // HBM time per written byte, relative to a read byte
  // Mixed traffic takes longer by the fraction turnaround x (4 w (1 - w))^turnaround_exponent, w = share of writes.
  double turnaround = 0;
  double turnaround_exponent = 1;
  double turnaround_in_order = 1;  // factor on turnaround if all workgroups walk through memory together
  Bytes access_granularity;        // bytes fetched for any smaller random access
  Bytes random_access_cost;        // HBM time of a random access besides its bytes, expressed in bytes
  Time unloaded_latency;
  // A batch waits for its slowest load. The slowest of n loads takes latency_spread x ln(n) longer than one load on
  // idle memory, and waits longer than one load under load (models/hardware/cu/phase_class.cpp). 0: all loads take the
  // same time.
  Time latency_spread;
  // Loaded latency L(u) = unloaded_latency x (1 + latency_growth x u^latency_exponent) below saturation, with u = load
  // / bandwidth. At saturation the sharing law determines the latency (docs/explanation/sharing.md).
  double latency_growth = 0;
  double latency_exponent = 1;
  static void describe(config::Describer<HbmSpec>& d);
};

struct CacheSpec {
  Bytes capacity;
  double usable_share = 1;  // usable part of the capacity for rows read at random
  BytesPerSecond bandwidth;
  Time hit_latency;
  Bytes line{128};
  double add_cost = 2;      // bandwidth of an addition in the cache, relative to that of reading its sectors
  std::int64_t slices = 1;  // a hash of the address divides the lines among them; 1: they always have equal loads
  double popular_cost = 1;  // bandwidth per byte of the most popular row, relative to that of other bytes
  Bytes popular_row{0};     // the shortest row with cost popular_cost; a row of half this length costs twice as much
  bool in_groups = false;   // every group of CUs has its own cache; the values are sums over groups
  static void describe(config::Describer<CacheSpec>& d);

  // Load of the busiest slice over the mean load, if a hash divides `lines` (> 0) equally loaded lines among the
  // slices. The number of lines in a slice has mean and variance lines / slices. The result is the expected maximum of
  // `slices` such numbers, approximated by the maximum of normally distributed numbers (Gumbel's limit).
  double busiest_slice(double lines) const;

  // The same cache at `share` of the GPU's clock, with all values that scale with the clock (memory::declaration).
  CacheSpec at_clock(double share) const;
};

}  // namespace moire::memory
