#include "app/evidence/validate/machines.hpp"

#include <algorithm>
#include <cmath>

namespace moire::validate {

void compare_machines(GroupResult& group) {
  std::vector<double> apart, beyond;
  for (const Case& one : group.cases) {
    if (!one.measured || one.again.empty()) continue;
    const double unit = one.in_points ? 1 : *one.measured / 100;
    for (const double again : one.again) apart.push_back((again - *one.measured) / unit);
    const auto [least, most] = std::minmax_element(one.again.begin(), one.again.end());
    const double low = std::min(*least, *one.measured), high = std::max(*most, *one.measured);
    beyond.push_back((one.simulated - std::clamp(one.simulated, low, high)) / unit);
  }
  if (apart.empty()) return;
  group.metrics.emplace_back(machines_percent, summarise(apart).mean);
  group.metrics.emplace_back(beyond_machines_percent, summarise(beyond).mean);
}

}  // namespace moire::validate
