// What random reads of table rows take of the L2, besides the bytes of the rows.
#pragma once

#include "models/hardware/memory/cache.hpp"

namespace moire::memory {

struct TableTraffic {
  double merged = 0;  // share of the bytes read that take no bandwidth of the L2 and of a group's way to it
  double extra = 0;   // additional bytes of L2 bandwidth, per byte read
};

// Three effects of rows that are read often, measured with the benchmarks gather_popular, gather_places and gather_own:
// - A load instruction of a wavefront that reads several rows (TableReads::rows_per_load) requests each line once.
// - If another CU of the group has just requested a line, one answer serves both (CacheSpec::merge_window). A row is
//   requested again in proportion to its share of the reads; at most half of the requests merge, and of several tables
//   that are read at the same time, only those of CUs that read the same one.
// - All CUs together load a line only at the rate of its slice (CacheSpec::slice_bandwidth). While the busiest slice
//   has more requests than the mean slice, the other slices wait, because its requests fill the queues before them: the
//   time for these requests adds up with the time for all others. A hash of the address divides the rows among the
//   slices, so popular rows of several tables lie in different slices or, by chance, in the same one. The same
//   holds for the way of a CU to the slices (slice_bandwidth_apart). Each workgroup reads one table, so a CU reads at
//   most as many tables as it has workgroups. The slower of the two counts.
TableTraffic table_traffic(const CacheSpec& l2, const TableReads& reads);

}  // namespace moire::memory
