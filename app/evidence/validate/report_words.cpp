#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/validate/report.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

// Number of decimals of errors. Further digits are rounding errors, which depend on the order of summation.
constexpr int error_decimals = 6;

// Returns the unit of the value that a limit applies to.
std::string unit_of_limit(const Limit& limit, const GroupResult& group) {
  for (const study::Metric& metric : group.metrics)
    if (metric.name == limit.on) return std::string(study::unit_of(metric.name));
  return group.error_unit;
}

std::string with_unit(double value, const std::string& unit) {
  return shown(report::Number{.value = value, .unit = unit, .style = report::Number::Style::trimmed});
}

}  // namespace

report::Number value_of(double value) { return {.value = value, .style = report::Number::Style::telling}; }

report::Number error_of(double error, const std::string& unit) {
  return {.value = error,
          .unit = unit,
          .digits = 1,
          .style = report::Number::Style::nearest,
          .sign = true,
          .decimals = error_decimals};
}

report::Number size_of(double error, const std::string& unit) {
  return {.value = std::abs(error), .unit = unit, .digits = 1, .decimals = error_decimals};
}

std::string limit_text(const Limit& limit, const GroupResult& group) {
  const std::string unit = unit_of_limit(limit, group);
  const std::string on = limit.on == "curve" ? fmt::format("curve {}", limit.at) : limit.on;
  return fmt::format("{} {}: {}, {}", on, with_unit(limit.most, unit), with_unit(limit.value, unit),
                     limit.held() ? "held" : "beyond");
}

std::string outcome_text(const GroupResult& group) {
  if (group.limits.empty()) return "none";
  std::vector<std::string> beyond;
  for (const Limit& limit : group.limits)
    if (!limit.held() && std::find(beyond.begin(), beyond.end(), limit.on) == beyond.end()) beyond.push_back(limit.on);
  return beyond.empty() ? "held" : "beyond: " + config::join(beyond);
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
  std::string text = report::plural(group.cases.size(), "case");
  if (!group.left_out.empty())
    text += fmt::format(", {} left out {}", group.left_out.size(),
                        !has_own_errors(group)         ? "that have no other case to compare with"
                        : group.kind == "measurements" ? "that are 0 or cannot be simulated"
                                                       : "without a measured value");
  return text;
}

std::vector<std::string> beyond_limits(const ValidationResult& result) {
  std::vector<std::string> lines;
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
      lines.push_back(fmt::format("beyond its limit: group {}: {} is {}, above the limit of {}",
                                  config::in_quotes(group.name), what, with_unit(limit.value, unit),
                                  with_unit(limit.most, unit)));
    }
  }
  return lines;
}

}  // namespace moire::validate
