#include "models/hardware/memory/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::memory {

void HbmSpec::describe(config::Describer<HbmSpec>& d) {
  d.component("hbm", "High-bandwidth memory of one GPU.");
  d.field("capacity", &HbmSpec::capacity, "Size").positive();
  d.field("peak", &HbmSpec::peak, "Interface bandwidth of the datasheet; nothing may exceed it").positive();
  d.field("bandwidth", &HbmSpec::bandwidth, "Bandwidth that streaming kernels reach, read plus written").positive();
  d.field("write_cost", &HbmSpec::write_cost, "HBM time of a written byte over that of a read byte")
      .range(0.1, 10)
      .or_default();
  d.field("turnaround", &HbmSpec::turnaround,
          "Extra time of traffic that is half reads and half writes, over both one after the other; for a share x of "
          "writes (4 x (1 - x))^turnaround_exponent of it")
      .range(0, 4)
      .or_default();
  d.field("turnaround_exponent", &HbmSpec::turnaround_exponent,
          "See turnaround; below 1 where few writes among reads cost much: each is a turn of its own")
      .range(0.01, 1)
      .or_default();
  d.field("turnaround_in_order", &HbmSpec::turnaround_in_order,
          "Share of the turnaround that is left where all workgroups walk through memory together, as in element-wise "
          "kernels: reads and writes come in long runs")
      .range(0, 1)
      .or_default();
  d.field("access_granularity", &HbmSpec::access_granularity, "Bytes fetched for any smaller random access").positive();
  d.field("random_access_cost", &HbmSpec::random_access_cost,
          "HBM time of a random access beside that of its bytes, as bytes (banks that open another row)")
      .fractional()
      .or_default();
  d.field("unloaded_latency", &HbmSpec::unloaded_latency, "Latency of a load that misses all caches, idle memory")
      .positive();
  d.field(
       "latency_spread", &HbmSpec::latency_spread,
       "How much longer the slowest of e times as many loads takes that a wavefront waits for together, idle memory; "
       "under load it waits for the slowest as well. Absent: all take the same time")
      .or_default();
  d.field("latency_growth", &HbmSpec::latency_growth,
          "Growth of the latency just before saturation, relative to unloaded")
      .range(0, 10);
  d.field("latency_exponent", &HbmSpec::latency_exponent, "Exponent of the load in the latency growth").range(0.1, 20);
  d.check([](const HbmSpec& s) -> std::optional<config::Problem> {
    if (s.bandwidth > s.peak)
      return config::Problem{"bandwidth is above peak", "a stream cannot beat the interface of the datasheet"};
    return std::nullopt;
  });
}

void CacheSpec::describe(config::Describer<CacheSpec>& d) {
  d.component("cache", "Last-level cache shared by all CUs of a GPU (L2, or the memory-side Infinity Cache).");
  d.field("capacity", &CacheSpec::capacity, "Size").positive();
  d.field("usable_share", &CacheSpec::usable_share,
          "Share of the capacity that rows read at random find (partitions that keep copies of each other's lines hold "
          "less)")
      .range(0.01, 1)
      .or_default();
  d.field("bandwidth", &CacheSpec::bandwidth, "Bytes per second to all CUs together").positive();
  d.field("hit_latency", &CacheSpec::hit_latency, "Latency of a load that hits").positive();
  d.field("add_cost", &CacheSpec::add_cost,
          "Bandwidth that additions in the cache take (atomics without a result), over that of reading the same "
          "sectors; 2: a read and a write")
      .range(1, 100)
      .or_default();
  d.field("popular_cost", &CacheSpec::popular_cost,
          "Bandwidth that a byte of a table's most popular row takes, over that of another byte, since the row lies in "
          "few slices of the cache; 1: not measured")
      .range(1, 1000)
      .or_default();
  d.field("line", &CacheSpec::line, "Bytes of a line, which come from memory together").positive().or_default();
  d.field(
       "in_groups", &CacheSpec::in_groups,
       "Capacity and bandwidth are sums over the groups of CUs (XCDs), each with a cache of its own: a GPU with more "
       "groups has more of both")
      .or_default();
}

CacheSpec CacheSpec::at_clock(double share) const {
  CacheSpec slow = *this;
  slow.bandwidth = bandwidth * share;
  slow.hit_latency = Time::from_seconds(hit_latency.seconds() / share);
  return slow;
}

}  // namespace moire::memory
