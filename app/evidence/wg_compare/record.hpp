// A record of what the workgroups of a kernel did and when, made from a measured WG trace or from a simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::wg_compare {

using program::Rank;

// A unit of work of a workgroup. A workgroup of a persistent kernel does many tasks. In a trace, a task is a row of
// kind `task` or `work`. In a simulation, a task consists of work phases that the workgroup waits for (see Recorder).
struct Task {
  Rank rank = 0;
  std::int64_t workgroup = 0;  // number of the workgroup in the launched grid
  std::uint32_t cu = 0;
  Time begin;
  Time end;  // when all stores of the task have been issued; they may arrive later
};

// Stores to another rank.
struct Store {
  Rank source = 0;
  Rank peer = 0;
  Time begin;  // when the first store was issued
  Time end;    // when the last store was issued
  Time arrived;
  double bytes = 0;
};

// What the workgroups of one kernel did. Times count from the first start on any rank.
struct Record {
  std::string kernel;
  Rank ranks = 0;
  std::int64_t workgroups_per_rank = 0;  // in the launched grid
  Time makespan;
  bool knows_arrivals = false;  // false for traces, which do not record when stores arrive
  std::vector<Task> tasks;
  std::vector<Store> stores;
};

}  // namespace moire::wg_compare
