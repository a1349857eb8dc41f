#include "app/evidence/validate/limits.hpp"

#include <fmt/format.h>

#include "sim/formats/number.hpp"

namespace moire::validate {

void LimitsSpec::describe(config::Describer<LimitsSpec>& d) {
  d.component("limits", "Limits on the absolute errors of a group; if one is exceeded, the validation fails.");
  d.field("case", &LimitsSpec::each, "Limit on the error of every case").example("15 %").optional();
  d.field("mean", &LimitsSpec::mean, "Limit on the mean error of the group").example("6 %").optional();
  d.field("median", &LimitsSpec::median, "Limit on the median error of the group").example("5 %").optional();
  d.field("percentile_95", &LimitsSpec::percentile_95, "Limit on the 95th percentile of the group's errors")
      .example("12 %")
      .optional();
  d.field("curve", &LimitsSpec::curve,
          "Limit on the mean error of every curve of a group of measurements (one metric of one benchmark)")
      .example("5 %")
      .optional();
}

std::optional<double> read_limit(const config::Node& node, const std::string& unit, config::Diagnostics& diagnostics) {
  if (node.broken) return std::nullopt;
  const std::string example = unit == "%" ? "15 %" : "4 points";
  const std::string what =
      fmt::format("a limit is {}, not a number of {}", found(node), unit == "%" ? "percent" : unit);
  if (node.is_scalar() && node.text.ends_with(unit)) {
    std::string number = node.text.substr(0, node.text.size() - unit.size());
    while (!number.empty() && number.back() == ' ') number.pop_back();
    const auto value = formats::number_in<double>(number);
    if (value && *value >= 0) return value;
  }
  diagnostics.error(node.place, what, "write it like " + example);
  return std::nullopt;
}

std::optional<Limits> read_limits(const LimitsSpec& spec, const std::string& unit, config::Diagnostics& diagnostics) {
  Limits limits;
  const std::size_t before = diagnostics.size();
  const auto read = [&](const config::Node& node, std::optional<double>& into) {
    if (!node.is_null()) into = read_limit(node, unit, diagnostics);
  };
  read(spec.each, limits.each);
  read(spec.mean, limits.mean);
  read(spec.median, limits.median);
  read(spec.percentile_95, limits.percentile_95);
  read(spec.curve, limits.curve);
  if (diagnostics.size() > before) return std::nullopt;
  return limits;
}

void apply(const Limits& limits, GroupResult& group) {
  const Summary& all = group.summary;
  if (all.cases == 0) return;
  const auto add = [&group](const std::optional<double>& most, const char* on, double value, const std::string& at) {
    if (most) group.limits.push_back({on, *most, value, at});
  };
  add(limits.each, "case", all.worst, group.worst_case);
  add(limits.mean, "mean", all.mean, "");
  add(limits.median, "median", all.median, "");
  add(limits.percentile_95, "percentile_95", all.percentile_95, "");
  for (const Curve& curve : group.curves) {
    if (curve.summary.cases > 0) add(limits.curve, "curve", curve.summary.mean, curve.name);
  }
}

}  // namespace moire::validate
