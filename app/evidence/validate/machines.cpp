#include "app/evidence/validate/machines.hpp"

#include <algorithm>

namespace moire::validate {

void compare_machines(GroupResult& group) {
  std::vector<double> apart, beyond;
  for (const Case& one : group.cases) {
    if (!one.measured) continue;
    const double unit = one.in_points ? 1 : *one.measured / 100;
    double low = *one.measured, high = low;
    bool measured_again = false;
    for (const std::optional<double>& again : one.again) {
      if (!again) continue;
      measured_again = true;
      apart.push_back((*again - *one.measured) / unit);
      low = std::min(low, *again);
      high = std::max(high, *again);
    }
    if (measured_again) beyond.push_back((one.simulated - std::clamp(one.simulated, low, high)) / unit);
  }
  if (apart.empty()) return;
  group.metrics.emplace_back(machines_percent, summarise(apart).mean);
  group.metrics.emplace_back(beyond_machines_percent, summarise(beyond).mean);
}

}  // namespace moire::validate
