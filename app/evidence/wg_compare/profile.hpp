// Distributions and accumulated amounts that a comparison derives from a record.
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
  std::vector<std::vector<Time>> waves;  // [k]: starts of the k-th task of every workgroup, ascending
  Time mean_task;
  Cumulative busy;                     // time that workgroups spent in tasks, in ps
  std::map<Link, Cumulative> issued;   // bytes of stores
  std::map<Link, Cumulative> arrived;  // empty if the record does not know arrivals
  std::vector<Time> cu_task_times;     // mean task time of every CU that had tasks, over all ranks, ascending

  // Returns the number of tasks in flight on a rank, averaged over all ranks and over the time between two moments.
  double in_flight(Time from, Time to) const;

 private:
  Rank ranks_;
};

// Returns the time, in us, below which a `share` (0 to 1) of the times in `ascending` lie. Interpolates between
// neighbouring times. `ascending` must not be empty.
double quantile_us(const std::vector<Time>& ascending, double share);

// Returns the empirical distribution of the values: each of n values adds a portion of 1 / n.
Cumulative distribution(const std::vector<Time>& values);

}  // namespace moire::wg_compare
