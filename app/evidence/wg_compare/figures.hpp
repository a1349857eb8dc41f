// The figures of a comparison.
#pragma once

#include <vector>

#include "app/evidence/wg_compare/profile.hpp"
#include "app/report/plot.hpp"

namespace moire::wg_compare {

// Mean tasks in flight on a rank while a bin of time lasts.
struct OccupancyBin {
  Time begin;
  Time end;
  double measured = 0;
  double simulated = 0;
};

// Bins of one length that reach to `end` or just beyond.
std::vector<OccupancyBin> occupancy(const Profile& measured, const Profile& simulated, Time length, Time end);

// Up to `end`: starts and ends of tasks, tasks in flight, bytes over links if there are any, task times of CUs. No
// series has more than 2,000 points.
std::vector<report::Figure> figures(const Profile& measured, const Profile& simulated, Time end);

}  // namespace moire::wg_compare
