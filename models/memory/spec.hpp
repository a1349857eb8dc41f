// Device memory of one GPU: HBM and the last-level cache in front of it.
#pragma once

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::models::memory {

struct HbmSpec {
  Bytes capacity;
  BytesPerSecond peak;       // pins x rate (datasheet)
  BytesPerSecond bandwidth;  // what streams reach, read plus written
  double write_cost = 1;     // HBM time of a written byte over that of a read byte
  double turnaround = 0;     // extra time of traffic that is half reads, half writes, over the sum of both alone
  Bytes access_granularity;  // bytes fetched for a random access of any smaller size
  Bytes random_access_cost;  // what a random access takes beside its bytes, as bytes
  Time unloaded_latency;
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
  static void describe(config::Describer<CacheSpec>& d);
};

}  // namespace moire::models::memory
