// Writes the records of one run of the fused or of the unfused kernel as a Moire WG trace, version 1, on one time axis.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "records.hpp"
#include "shape.hpp"

struct RankRecords {
  std::vector<TaskRecord> tasks;  // [task id]
  std::vector<WaitRecord> waits;  // [peer][wg]; empty for the unfused kernel
  std::vector<WgRecord> wgs;      // [wg]; empty for the unfused kernel
  bool exchanges = true;  // true: results are stored to the rank that owns the sample; false: to the GPU's own memory
};

// The records of a run on one time axis. align() subtracts each rank's timer offset, and then the earliest time of any
// task or wait, so that the trace begins at 0. `end_ns` is the latest end of a task or wait. Times of WGs before the
// first task become negative: cast them to int64_t.
struct AlignedRun {
  std::vector<RankRecords> ranks;
  int64_t end_ns = 0;
};
AlignedRun align(std::vector<RankRecords> ranks, const std::vector<double>& offset_ns);

// Returns the time from the first start to the last end of a run's tasks and waits, in ns, and changes no record.
int64_t makespan_ns(const std::vector<RankRecords>& ranks, const std::vector<double>& offset_ns);

using Metadata = std::vector<std::pair<std::string, std::string>>;
void write_trace(const std::string& path, const AlignedRun& run, const Shape& shape, const Metadata& metadata);

// Writes one line per physical WG: rank,wg,cu,entry_ns,released_ns,last_end_ns,end_ns,tasks. Times are those of the
// trace.
void write_wgs(const std::string& path, const AlignedRun& run, const Metadata& metadata);
