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
  bool exchanges = true;          // stores go to the owner of the sample; false: to the GPU's own memory
};

// Subtracts each rank's timer offset, then the earliest time of any task or wait, so that the trace begins at 0.
// Returns the latest end, in ns after that zero. WG entries and releases before the first task become negative: they
// are signed from here on.
struct AlignedRun {
  std::vector<RankRecords> ranks;
  int64_t end_ns = 0;
};
AlignedRun align(std::vector<RankRecords> ranks, const std::vector<double>& offset_ns);

// Makespan of a run without touching its records, in ns.
int64_t makespan_ns(const std::vector<RankRecords>& ranks, const std::vector<double>& offset_ns);

using Metadata = std::vector<std::pair<std::string, std::string>>;
void write_trace(const std::string& path, const AlignedRun& run, const Shape& shape, const Metadata& metadata);

// One line per physical WG: rank,wg,cu,entry_ns,released_ns,last_end_ns,end_ns,tasks, on the trace's time axis.
void write_wgs(const std::string& path, const AlignedRun& run, const Metadata& metadata);
