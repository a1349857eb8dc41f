// What the workgroups of a kernel did and when, from a measured WG trace or from a simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::wg_compare {

using program::Rank;

// A unit of work of a workgroup; a persistent kernel's workgroup does many. In a trace it is a row of kind `task`, in a
// simulation the work phases that a workgroup waits for (see Recorder).
struct Task {
  Rank rank = 0;
  std::int64_t workgroup = 0;  // physical
  std::uint32_t cu = 0;
  Time begin;
  Time end;  // all its stores have been issued, but may not have arrived
};

// Stores to another rank.
struct Store {
  Rank source = 0;
  Rank peer = 0;
  Time begin;  // the first one was issued
  Time end;    // the last one was issued
  Time arrived;
  double bytes = 0;
};

// Times count from the first start on any rank.
struct Record {
  std::string kernel;
  Rank ranks = 0;
  std::int64_t workgroups_per_rank = 0;  // physical
  Time makespan;
  bool knows_arrivals = false;  // false for traces
  std::vector<Task> tasks;
  std::vector<Store> stores;
};

}  // namespace moire::wg_compare
