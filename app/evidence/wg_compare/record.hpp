// What the workgroups of one kernel did and when: of a measured WG trace, or of a simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::wg_compare {

using program::Rank;

// A piece of work that a workgroup does before it turns to the next: in a trace a row of kind `task`, in a simulation
// the work phases that a workgroup waits for (see Recorder). A workgroup of a persistent kernel does many of them.
struct Task {
  Rank rank = 0;
  std::int64_t workgroup = 0;  // physical
  std::uint32_t cu = 0;
  Time begin;
  Time end;  // all its stores issued, not yet arrived
};

// Stores to another rank.
struct Store {
  Rank source = 0;
  Rank peer = 0;
  Time begin;  // first one issued
  Time end;    // last one issued
  Time arrived;
  double bytes = 0;
};

// Times count from the first start on any rank.
struct Record {
  std::string kernel;
  Rank ranks = 0;
  std::int64_t workgroups_per_rank = 0;  // physical
  Time makespan;
  bool knows_arrivals = false;  // a trace does not
  std::vector<Task> tasks;
  std::vector<Store> stores;
};

}  // namespace moire::wg_compare
