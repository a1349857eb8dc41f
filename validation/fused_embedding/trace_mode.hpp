// Records runs of one point of the grid (a named shape) as WG traces.
#pragma once

#include <string>

#include "bench.hpp"
#include "grid.hpp"

struct TraceRequest {
  std::string out;      // folder
  std::string command;  // the command line, for the header
  int repetitions = 11;
  int warmups = 3;
};

// Writes <point>.wgtrace.csv and <point>.wgs.csv for the fused kernel, and <point>.unfused.wgtrace.csv for the unfused
// one. The bench must already have the point's shape.
void write_traces(Bench& bench, const Point& point, const TraceRequest& request);

// Times that the fused kernel spends outside its tasks: medians of three recorded runs without a start barrier.
struct FusedOverhead {
  double entry_us = 0;  // from a WG's first instruction to its first task, median WG
  double poll_us = 0;   // from the end of a WG's last task to its end (releases and waits for other GPUs), median WG
  double tail_us = 0;   // from the end of a GPU's last task to the end of its last WG, slowest GPU
};
FusedOverhead fused_overhead(Bench& bench);
