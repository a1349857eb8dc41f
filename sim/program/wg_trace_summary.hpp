// The times and counts of a WG trace for each rank.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/wg_trace.hpp"

namespace moire::program {

struct WgTraceRankSummary {
  std::int64_t tasks = 0;
  std::int64_t waits = 0;
  Time first_start = Time::max();  // over all rows
  Time last_compute_end;           // the latest of all tasks
  Time last_task_end;
  Time last_end;  // over all rows
};

class WgTraceSummary {
 public:
  void add(const WgTraceRow& row);
  const std::vector<WgTraceRankSummary>& ranks() const { return ranks_; }

 private:
  std::vector<WgTraceRankSummary> ranks_;
};

}  // namespace moire::program
