#include "app/evidence/validate/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace moire::validate {

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(position), values.size() - 1);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

Summary summarise(const std::vector<double>& errors) {
  Summary summary;
  summary.cases = errors.size();
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  double sum = 0;
  double signed_sum = 0;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    sum += sizes.back();
    signed_sum += error;
  }
  const auto n = static_cast<double>(errors.size());
  const auto worst = std::max_element(sizes.begin(), sizes.end());
  summary.worst_at = static_cast<std::size_t>(worst - sizes.begin());
  summary.worst = *worst;
  summary.mean = sum / n;
  summary.bias = signed_sum / n;
  summary.median = percentile(sizes, 0.5);
  summary.percentile_95 = percentile(sizes, 0.95);
  return summary;
}

}  // namespace moire::validate
