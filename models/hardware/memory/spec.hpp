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
  BytesPerSecond bandwidth;  // achieved by streams, read plus write
  double write_cost = 1;     // HBM time per written byte, relative to a read byte
  // Mixed traffic takes longer by the fraction turnaround x (4 w (1 - w))^turnaround_exponent, w = share of writes.
  double turnaround = 0;
  double turnaround_exponent = 1;
  double turnaround_in_order = 1;  // factor on turnaround if all workgroups walk through memory together
  Bytes access_granularity;        // bytes fetched for any smaller random access
  Bytes random_access_cost;        // cost of a random access besides its bytes, in bytes
  Time unloaded_latency;
  // A batch of n loads waits for the slowest one, which takes latency_spread longer for each factor e in n; the same
  // holds for waiting under load. 0: all loads take the same time.
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
  std::int64_t slices = 1;  // among which a hash of the address divides the lines; 1: additions find them even
  double popular_cost = 1;  // bandwidth per byte of the most popular row, relative to that of other bytes
  Bytes popular_row{0};     // the shortest row with cost popular_cost; a row of half this length costs twice as much
  bool in_groups = false;   // every group of CUs has its own cache; the values are sums over groups
  static void describe(config::Describer<CacheSpec>& d);

  // Load of the busiest slice over the mean load, if a hash divides `lines` (> 0) equally loaded lines among the slices:
  // the expected maximum of `slices` numbers with a mean and variance of lines / slices, for which the normal
  // distribution's is taken (Gumbel's limit of the maximum).
  double busiest_slice(double lines) const;

  // The same cache at `share` of the GPU's clock, including values that follow it (memory::declaration).
  CacheSpec at_clock(double share) const;
};

}  // namespace moire::memory
