#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/validate/report.hpp"

namespace moire::validate {

namespace {

// The unit of what a limit stands on.
std::string unit_of_limit(const Limit& limit, const GroupResult& group) {
  for (const study::Metric& metric : group.metrics)
    if (metric.name == limit.on) return std::string(study::unit_of(metric.name));
  return group.error_unit;
}

std::string short_number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string value_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e5 || (value == std::floor(value) && size >= 1000)) return fmt::format("{:.0f}", value);
  if (size >= 1 || value == 0) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string error_text(double error, const std::string& unit) {
  return fmt::format("{:+.1f} {}", std::round(error * 10) / 10 + 0.0, unit);
}

std::string size_text(double error, const std::string& unit) { return fmt::format("{:.1f} {}", std::abs(error), unit); }

std::string limit_text(const Limit& limit, const GroupResult& group) {
  const std::string unit = unit_of_limit(limit, group);
  const std::string on = limit.on == "curve" ? fmt::format("curve {}", limit.at) : limit.on;
  return fmt::format("{} {} {}: {}, {}", on, short_number(limit.most), unit,
                     fmt::format("{} {}", short_number(limit.value), unit), limit.held() ? "held" : "beyond");
}

bool has_one_metric(const GroupResult& group) {
  return !group.cases.empty() && std::all_of(group.cases.begin(), group.cases.end(), [&](const Case& one) {
    return one.metric == group.cases.front().metric && one.unit == group.cases.front().unit;
  });
}

std::string group_title(const GroupResult& group) {
  const std::string unit = has_one_metric(group) ? group.cases.front().unit : "";
  const std::string about = !group.about.empty()    ? group.about
                            : has_one_metric(group) ? group.cases.front().metric
                                                    : "";
  return group.name + (about.empty() ? "" : ": " + about) + (unit.empty() ? "" : " in " + unit);
}

std::string worst_text(const Curve& curve) {
  const std::string first = curve.name.substr(0, curve.name.find(' ')) + " ";
  return curve.worst_case.starts_with(first) ? curve.worst_case.substr(first.size()) : curve.worst_case;
}

std::string count_text(const GroupResult& group) {
  if (group.kind == "trace") return fmt::format("{} values of both in JSON, CSV and report", group.cases.size());
  std::string text = fmt::format("{} case{}", group.cases.size(), group.cases.size() == 1 ? "" : "s");
  if (!group.left_out.empty())
    text += fmt::format(", {} left out {}", group.left_out.size(),
                        !has_own_errors(group)         ? "that have no other to compare with"
                        : group.kind == "measurements" ? "that are 0 or cannot be simulated"
                                                       : "without a measured value");
  return text;
}

std::string beyond_limits(const ValidationResult& result) {
  std::string out;
  for (const GroupResult& group : result.groups) {
    for (const Limit& limit : group.limits) {
      if (limit.held()) continue;
      const std::string unit = unit_of_limit(limit, group);
      std::string what = fmt::format("{} of the errors", limit.on);
      if (limit.on == "case") what = fmt::format("the error of case {}", config::in_quotes(limit.at));
      if (limit.on == "curve") what = fmt::format("the mean error of {}", config::in_quotes(limit.at));
      if (std::any_of(group.metrics.begin(), group.metrics.end(),
                      [&](const study::Metric& m) { return m.name == limit.on; }))
        what = limit.on;
      out += fmt::format("beyond its limit: group {}: {} is {} {}, at most {} {}\n", config::in_quotes(group.name),
                         what, short_number(limit.value), unit, short_number(limit.most), unit);
    }
  }
  return out;
}

}  // namespace moire::validate
