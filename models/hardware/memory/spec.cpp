#include "models/hardware/memory/spec.hpp"

#include "sim/config/spec.hpp"

namespace moire::memory {

void HbmSpec::describe(config::Describer<HbmSpec>& d) {
  d.component("hbm", "The high-bandwidth memory of one GPU.");
  d.field("capacity", &HbmSpec::capacity, "Size of the memory").positive();
  d.field("peak", &HbmSpec::peak, "Interface bandwidth of the datasheet, which nothing may exceed").positive();
  d.field("bandwidth", &HbmSpec::bandwidth, "Bandwidth that streaming kernels reach, reads and writes together")
      .positive();
  d.field("write_cost", &HbmSpec::write_cost, "HBM time of a written byte relative to a read byte")
      .range(0.1, 10)
      .or_default();
  d.field("turnaround", &HbmSpec::turnaround,
          "Additional time of traffic that is half reads and half writes, relative to doing both one after the other. "
          "If the share of writes is x, the additional time is this value times (4 x (1 - x))^turnaround_exponent")
      .range(0, 4)
      .or_default();
  d.field("turnaround_exponent", &HbmSpec::turnaround_exponent,
          "Exponent of the turnaround's dependence on the share of writes (see turnaround); below 1 if few writes "
          "among reads are expensive, because each turns the bus around")
      .range(0.01, 1)
      .or_default();
  d.field("turnaround_in_order", &HbmSpec::turnaround_in_order,
          "Share of the turnaround that remains if workgroups walk through memory one behind the other, as in "
          "element-wise kernels with one workgroup per block: reads and writes then come in long runs")
      .range(0, 1)
      .or_default();
  d.field("turnaround_in_strides", &HbmSpec::turnaround_in_strides,
          "The same if all workgroups walk through memory by one stride, as in element-wise kernels with a grid-stride "
          "loop: the workgroups drift apart, and the runs are shorter")
      .range(0, 1)
      .or_default();
  d.field("turnaround_gathers", &HbmSpec::turnaround_gathers,
          "Share of the turnaround that remains if workgroups load random rows and store results one behind the other, "
          "as in embedding kernels: only the writes then come in long runs")
      .range(0, 1)
      .or_default();
  d.field("access_granularity", &HbmSpec::access_granularity, "Bytes that are fetched for any smaller random access")
      .positive();
  d.field("random_access_cost", &HbmSpec::random_access_cost,
          "Additional HBM time of a random access, in bytes, because a bank opens another row")
      .fractional()
      .or_default();
  d.field("random_access_rate", &HbmSpec::random_access_rate,
          "Random accesses that the memory can serve per second, however short they are, because banks open rows only "
          "so fast; absent: no limit")
      .positive()
      .optional();
  d.field("unloaded_latency", &HbmSpec::unloaded_latency,
          "Latency of a load that misses all caches while memory is idle")
      .positive();
  d.field("latency_spread", &HbmSpec::latency_spread,
          "The slowest of n loads that a wavefront waits for together takes ln(n) x this time longer than one load, "
          "while memory is idle. If it is given, waits under load also depend on the slowest load. Absent: all loads "
          "take the same time")
      .or_default();
  d.field("latency_growth", &HbmSpec::latency_growth,
          "Growth of the latency just before saturation, relative to unloaded_latency")
      .range(0, 10);
  d.field("latency_exponent", &HbmSpec::latency_exponent, "Exponent of the load in the growth of the latency")
      .range(0.1, 20);
  d.check([](const HbmSpec& s) -> std::optional<config::Problem> {
    if (s.bandwidth > s.peak)
      return config::Problem{"bandwidth is above peak",
                             "write at most the peak: a stream cannot exceed the interface bandwidth of the datasheet"};
    return std::nullopt;
  });
}

void CacheSpec::describe(config::Describer<CacheSpec>& d) {
  d.component("cache", "The last-level cache that all CUs of a GPU share (L2, or the memory-side Infinity Cache).");
  d.field("capacity", &CacheSpec::capacity, "Size of the cache").positive();
  d.field("partitions", &CacheSpec::partitions,
          "Partitions of the cache, each of which serves a share of the CUs and keeps a copy of each line that they "
          "read from the memory of another partition")
      .range(1, 16)
      .or_default();
  d.field("evict_first_share", &CacheSpec::evict_first_share,
          "Share of the capacity that lines fill whose loads say that they be evicted first (CUDA: "
          "ld.global.L1::no_allocate); they do not displace other lines. Absent: the GPU ignores this hint")
      .range(0.01, 1)
      .optional();
  d.field("store_displaces", &CacheSpec::store_displaces,
          "Number of lines, of loads whose lines are evicted first, that a stored line displaces")
      .range(0, 100)
      .or_default();
  d.field("dirty_least", &CacheSpec::dirty_least,
          "Stored lines that are not yet written to memory, beside loads whose lines are evicted first: share of the "
          "bytes of which every partition can have a copy. The share of stores in the traffic of the memory is added")
      .range(0, 1)
      .or_default();
  d.field("dirty_most", &CacheSpec::dirty_most, "Largest share of stored lines that are not yet written to memory")
      .range(0, 1)
      .or_default();
  d.field("bandwidth", &CacheSpec::bandwidth, "Bytes per second that all CUs together can load").positive();
  d.field("hit_latency", &CacheSpec::hit_latency, "Latency of a load that hits").positive();
  d.field("add_cost", &CacheSpec::add_cost,
          "Bandwidth that additions in the cache (atomics without a result) take, relative to reading the same "
          "sectors; 2 means a read and a write")
      .range(1, 100)
      .or_default();
  d.field(
       "bulk_add_cost", &CacheSpec::bulk_add_cost,
       "Bandwidth that bulk additions of 16-bit values to memory take (tiles added from the memory of a CU), relative "
       "to reading the same bytes; 2 means a read and a write")
      .range(2, 100)
      .or_default();
  d.field("slices", &CacheSpec::slices,
          "Slices of the cache among which a hash of the address divides the lines. If a grid adds to few lines, the "
          "busiest slice has more of them than the mean, and the grid ends when this slice does; 1 means that this is "
          "not modelled")
      .range(1, 65536)
      .or_default();
  d.field("slice_bandwidth", &CacheSpec::slice_bandwidth,
          "Bytes per second that all CUs together can load from one line, which lies in one slice of every partition. "
          "Rows that are read often then take longer than others. Absent: they do not")
      .positive()
      .optional();
  d.field(
       "slice_bandwidth_apart", &CacheSpec::slice_bandwidth_apart,
       "Bytes per second that all CUs together can load if each loads from one line of its own. It limits popular rows "
       "of many tables. Absent: these take no longer than others")
      .positive()
      .optional();
  d.field("slice_run", &CacheSpec::slice_run, "Consecutive bytes that lie in one slice")
      .range(Bytes{1}, Bytes{1e6})
      .or_default();
  d.field("slice_block", &CacheSpec::slice_block,
          "Consecutive bytes that lie in two slices, which take turns every slice_run; the next block lies in others")
      .range(Bytes{1}, Bytes{1e6})
      .or_default();
  d.field("merge_window", &CacheSpec::merge_window,
          "Bytes that a group of CUs has requested from the cache and not received yet, under full load: another "
          "request of the group for such a line takes no bandwidth of the cache, which makes gathers from small tables "
          "faster; 0 B means that it was not measured")
      .range(Bytes{0}, Bytes{1e9})
      .or_default();
  d.field(
       "lone_read_cost", &CacheSpec::lone_read_cost,
       "Bandwidth that a byte of a matrix product takes if every workgroup reads columns of its own, relative to one "
       "whose columns readers_together workgroups read at about the same time; 1 means that it was not measured")
      .range(1, 100)
      .or_default();
  d.field("readers_together", &CacheSpec::readers_together,
          "Number of workgroups that must read the same columns at about the same time so that lone_read_cost does not "
          "apply; between 1 and this number the cost falls evenly")
      .range(1, 1000)
      .or_default();
  d.field("line", &CacheSpec::line, "Bytes of a cache line, which is fetched from memory as a whole")
      .positive()
      .or_default();
  d.field("in_groups", &CacheSpec::in_groups,
          "true: capacity and bandwidth are sums over the groups of CUs (XCDs), each of which has its own cache, so "
          "that a GPU with more groups has more of both")
      .or_default();
  d.check([](const CacheSpec& s) -> std::optional<config::Problem> {
    if (s.dirty_least > s.dirty_most)
      return config::Problem{fmt::format("dirty_least {} is above dirty_most {}", s.dirty_least, s.dirty_most),
                             "lower dirty_least or raise dirty_most"};
    if (s.slice_bandwidth && s.slices <= s.partitions)
      return config::Problem{"slice_bandwidth has no effect with one slice in a partition",
                             "state slices above partitions"};
    if (s.slice_bandwidth_apart && !(s.slice_bandwidth && *s.slice_bandwidth <= *s.slice_bandwidth_apart))
      return config::Problem{"slice_bandwidth_apart is below slice_bandwidth, or stands alone",
                             "state slice_bandwidth as well, at most as large as slice_bandwidth_apart"};
    if (s.slice_block < s.slice_run)
      return config::Problem{"slice_block is below slice_run", "write at least slice_run, as a block consists of runs"};
    if (s.lone_read_cost > 1 && s.readers_together <= 1)
      return config::Problem{"lone_read_cost has no effect without readers_together", "state readers_together above 1"};
    return std::nullopt;
  });
}

Bytes CacheSpec::in_one_slice(Bytes row) const {
  const double run = std::min(row.value, slice_run.value);
  return Bytes{std::max(line.value, std::clamp(row.value / 2, run, std::max(run, slice_block.value / 2)))};
}

CacheSpec CacheSpec::at_clock(double share) const {
  CacheSpec slow = *this;
  slow.bandwidth = bandwidth * share;
  if (slice_bandwidth) slow.slice_bandwidth = *slice_bandwidth * share;
  if (slice_bandwidth_apart) slow.slice_bandwidth_apart = *slice_bandwidth_apart * share;
  slow.hit_latency = Time::from_seconds(hit_latency.seconds() / share);
  return slow;
}

}  // namespace moire::memory
