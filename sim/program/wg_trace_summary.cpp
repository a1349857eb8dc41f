#include "sim/program/wg_trace_summary.hpp"

#include <algorithm>

namespace moire::program {

void WgTraceSummary::add(const WgTraceRow& row) {
  if (ranks_.size() <= row.rank) ranks_.resize(row.rank + std::size_t{1});
  WgTraceRankSummary& rank = ranks_[row.rank];
  rank.first_start = std::min(rank.first_start, whole_ns(row.start_ns));
  rank.last_end = std::max(rank.last_end, whole_ns(row.end_ns));
  if (row.kind == WgTraceRow::Kind::wait) {
    ++rank.waits;
    return;
  }
  ++rank.tasks;
  rank.last_compute_end = std::max(rank.last_compute_end, whole_ns(row.compute_end_ns));
  rank.last_task_end = std::max(rank.last_task_end, whole_ns(row.end_ns));
}

}  // namespace moire::program
