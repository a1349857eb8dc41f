// Draws the figures that compare a measured with a simulated kernel.
#pragma once

#include <vector>

#include "app/evidence/wg_compare/profile.hpp"
#include "app/report/plot.hpp"

namespace moire::wg_compare {

// The mean number of tasks in flight on a rank during a bin of time.
struct OccupancyBin {
  Time begin;
  Time end;
  double measured = 0;
  double simulated = 0;
};

// Returns the mean number of tasks in flight in bins of equal length, from time 0. The last bin ends at `end` or just
// after `end`.
std::vector<OccupancyBin> occupancy(const Profile& measured, const Profile& simulated, Time length, Time end);

// Returns figures of the time up to `end`: starts and ends of tasks, tasks in flight, bytes over links if there are
// any, and task times by CU. A series has at most 2,000 points.
std::vector<report::Figure> figures(const Profile& measured, const Profile& simulated, Time end);

}  // namespace moire::wg_compare
