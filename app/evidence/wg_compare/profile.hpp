// What a comparison derives from a record: distributions, and amounts accumulated over time.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "app/evidence/wg_compare/cumulative.hpp"
#include "app/evidence/wg_compare/record.hpp"

namespace moire::wg_compare {

using Link = std::pair<Rank, Rank>;  // source and peer

struct Profile {
  explicit Profile(const Record& record);

  std::vector<Time> starts;              // of all tasks, ascending
  std::vector<Time> ends;                // of all tasks, ascending
  std::vector<std::vector<Time>> waves;  // starts of the first task of all workgroups, of the second..., ascending
  Time mean_task;
  Cumulative busy;                    // time that workgroups spent in tasks, in ps
  std::map<Link, Cumulative> issued;  // bytes of stores
  std::map<Link, Cumulative> arrived;
  std::vector<Time> cu_task_times;  // mean task time of each CU that had tasks, ascending

  // The mean number of tasks in flight on a rank between two times.
  double in_flight(Time from, Time to) const;

 private:
  Rank ranks_;
};

// The value below which `share` of the values lie, interpolated linearly; `ascending` must not be empty.
double quantile_us(const std::vector<Time>& ascending, double share);

// The empirical distribution of the values: a portion of 1 / n for each of n values.
Cumulative distribution(const std::vector<Time>& values);

}  // namespace moire::wg_compare
