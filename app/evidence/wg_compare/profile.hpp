// What a comparison looks at in a record: its distributions, and what adds up over time.
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
  std::vector<std::vector<Time>> waves;  // starts of all workgroups' first task, second task..., ascending
  Time mean_task;
  Cumulative busy;                    // time that workgroups spent in tasks, in ps
  std::map<Link, Cumulative> issued;  // bytes of stores
  std::map<Link, Cumulative> arrived;
  std::vector<Time> cu_task_times;  // mean over the tasks of each CU that did any, ascending

  // Mean number of tasks in flight on a rank between two dates.
  double in_flight(Time from, Time to) const;

 private:
  Rank ranks_;
};

// The value below which `share` of the values lie, linear between neighbours; `ascending` is not empty.
double quantile_us(const std::vector<Time>& ascending, double share);

// One portion of the same amount for each value, 1 in all: their empirical distribution.
Cumulative distribution(const std::vector<Time>& values);

}  // namespace moire::wg_compare
