// Device memory of one GPU: HBM and the last-level cache in front of it.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::memory {

struct HbmSpec {
  Bytes capacity;
  BytesPerSecond peak;       // pin count x pin rate (datasheet)
  BytesPerSecond bandwidth;  // rate that streams reach, reads and writes together
  double write_cost = 1;     // HBM time per written byte, relative to a read byte
  // Mixed traffic takes longer by the fraction turnaround x (4 w (1 - w))^turnaround_exponent, w = share of writes.
  double turnaround = 0;
  double turnaround_exponent = 1;
  double turnaround_in_order = 1;    // factor on turnaround if workgroups walk through memory in order (Walk)
  double turnaround_in_strides = 1;  // the same if they walk in strides
  double turnaround_gathers = 1;     // the same if workgroups load random rows and only their stores walk together
  Bytes access_granularity;          // a random access fetches a multiple of this
  Bytes random_access_cost;          // HBM time of a random access besides its bytes, expressed in bytes
  std::optional<PerSecond> random_access_rate;  // random accesses of any length per second; absent: no limit
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
  std::int64_t partitions = 1;  // each serves a share of the CUs, with a copy of each line that they read
  // Loads with the hint that their lines be evicted first (CUDA's ld.global.L1::no_allocate) do not displace lines of
  // other loads and of stores. Their lines have this share of the capacity. Absent: the GPU ignores the hint.
  std::optional<double> evict_first_share = std::nullopt;
  double store_displaces = 1;  // lines of such loads that a stored line displaces, where a loaded line displaces one
  // Share of duplicated() that stored lines fill, not yet written to memory, beside loads with this hint: dirty_least +
  // the share of stores in the traffic of the memory, but at most dirty_most.
  double dirty_least = 0;
  double dirty_most = 1;
  BytesPerSecond bandwidth;
  Time hit_latency;
  Bytes line{128};
  double add_cost = 2;       // bandwidth that an addition in the cache takes, relative to a read of the same sectors
  double bulk_add_cost = 2;  // the same per byte of 16-bit values that a copy engine of a CU adds in bulk
  std::int64_t slices = 1;   // a hash of the address divides the lines among them; 1: they always have equal loads
  // Rate at which all CUs together load one line, from its slice in every partition. Absent: reads of one line take no
  // longer than those of many.
  std::optional<BytesPerSecond> slice_bandwidth = std::nullopt;
  // Rate at which all CUs together load if each loads one line of its own. Absent: as fast as many lines.
  std::optional<BytesPerSecond> slice_bandwidth_apart = std::nullopt;
  Bytes slice_run{256};     // consecutive bytes that lie in one slice
  Bytes slice_block{1024};  // consecutive bytes that lie in two slices, in runs that alternate
  // Bytes that the CUs of a group have requested from the cache and not received yet, under full load. If another CU of
  // the group requests one of these lines, it gets the line from the same answer, which takes no bandwidth of the
  // cache.
  Bytes merge_window{0};
  // Bandwidth that a byte of a matrix product takes if a single workgroup at a time reads each column of tiles,
  // relative to a product whose columns `readers_together` or more workgroups read at about the same time.
  double lone_read_cost = 1;
  double readers_together = 1;
  bool in_groups = false;  // every group of CUs has its own cache; the values are sums over groups
  static void describe(config::Describer<CacheSpec>& d);

  // Returns the bytes that the cache holds if every partition has a copy of all of them.
  Bytes duplicated() const { return capacity * (1.0 / static_cast<double>(partitions)); }

  // Returns the bytes of a row that lie in one slice; a row shorter than a line takes as long as a line.
  Bytes in_one_slice(Bytes row) const;

  // Returns the load of the busiest slice / the mean load of a slice, if a hash divides `lines` (> 0) equally loaded
  // lines among the slices. The number of lines in a slice has mean and variance lines / slices. The result is the
  // expected maximum of `slices` such numbers, approximated by the maximum of normally distributed numbers (Gumbel's
  // limit).
  double busiest_slice(double lines) const;

  // Returns the spec of the same cache at `share` of the GPU's clock. Scales all values that memory::declaration() lets
  // follow the clock.
  CacheSpec at_clock(double share) const;
};

}  // namespace moire::memory
