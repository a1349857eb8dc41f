#include <fmt/format.h>

#include <algorithm>

#include "app/evidence/validate/report.hpp"
#include "app/report/table.hpp"

namespace moire::validate {

namespace {

using Align = report::Table::Align;

constexpr std::size_t most_rows = 100;  // of a group whose curves say the same in short

std::string value_or_nothing(const std::optional<double>& value) { return value ? value_text(*value) : ""; }

bool any(const std::vector<Case>& cases, std::optional<double> Case::*member) {
  return std::any_of(cases.begin(), cases.end(), [member](const Case& one) { return (one.*member).has_value(); });
}

std::string case_table(const GroupResult& group) {
  const bool spread = any(group.cases, &Case::low) || any(group.cases, &Case::high);
  const bool expected = any(group.cases, &Case::expected);
  const bool units = !has_one_metric(group);
  report::Table table;
  table.column("case", Align::left);
  if (units) table.column("metric", Align::left);
  table.column("measured", Align::right);
  if (spread) {
    table.column("low", Align::right);
    table.column("high", Align::right);
  }
  if (expected) table.column("expected", Align::right);
  table.column("simulated", Align::right);
  if (units) table.column("unit", Align::left);
  if (expected) table.column("expected error", Align::right);
  table.column("error", Align::right);
  for (const Case& one : group.cases) {
    std::vector<std::string> cells = {one.name};
    if (units) cells.push_back(one.metric);
    cells.push_back(value_or_nothing(one.measured));
    if (spread) {
      cells.push_back(value_or_nothing(one.low));
      cells.push_back(value_or_nothing(one.high));
    }
    if (expected) cells.push_back(value_or_nothing(one.expected));
    cells.push_back(value_text(one.simulated));
    if (units) cells.push_back(one.unit);
    const auto error_cell = [&group](const std::optional<double>& error) {
      return error ? error_text(*error, group.error_unit) : std::string();
    };
    if (expected) cells.push_back(error_cell(one.expected_error()));
    cells.push_back(error_cell(one.error()));
    table.row(std::move(cells));
  }
  return table.str();
}

std::string curve_table(const GroupResult& group) {
  report::Table table;
  table.column("curve", Align::left);
  for (const char* heading : {"points", "mean error", "worst"}) table.column(heading, Align::right);
  table.column("at", Align::left);
  for (const Curve& curve : group.curves) {
    table.row({curve.name, fmt::format("{}", curve.summary.cases), size_text(curve.summary.mean, group.error_unit),
               size_text(curve.summary.worst, group.error_unit), worst_text(curve)});
  }
  return table.str();
}

std::string metric_table(const GroupResult& group) {
  report::Table table;
  table.column("metric", Align::left);
  table.column("value", Align::right);
  table.column("unit", Align::left);
  for (const study::Metric& metric : group.metrics)
    table.row({metric.name, value_text(metric.value), std::string(study::unit_of(metric.name))});
  return table.str();
}

std::string outcome(const GroupResult& group) {
  if (group.limits.empty()) return "none";
  std::vector<std::string> beyond;
  for (const Limit& limit : group.limits)
    if (!limit.held() && std::find(beyond.begin(), beyond.end(), limit.on) == beyond.end()) beyond.push_back(limit.on);
  return beyond.empty() ? "held" : "beyond: " + config::join(beyond);
}

void summary_row(report::Table& table, const std::string& name, const Summary& summary, const std::string& unit,
                 const std::string& limits) {
  if (summary.cases == 0) {
    table.row({name, "0", "", "", "", "", "", limits});
    return;
  }
  table.row({name, fmt::format("{}", summary.cases), size_text(summary.mean, unit), size_text(summary.median, unit),
             size_text(summary.percentile_95, unit), size_text(summary.worst, unit), error_text(summary.bias, unit),
             limits});
}

std::string summary_table(const ValidationResult& result) {
  report::Table table;
  table.column("errors", Align::left);
  for (const char* heading : {"cases", "mean", "median", "95th percentile", "worst", "bias"})
    table.column(heading, Align::right);
  table.column("limits", Align::left);
  std::size_t with_percent = 0;
  for (const GroupResult& group : result.groups) {
    if (group.summary.cases > 0 || group.metrics.empty())
      summary_row(table, group.name, group.summary, group.error_unit, outcome(group));
    else
      table.row({group.name, "", "", "", "", "", "", outcome(group)});
    if (group.expected_summary.cases > 0)
      summary_row(table, group.name + ", as expected", group.expected_summary, group.error_unit, "");
    if (has_own_errors(group) && group.kind != "trace" && group.summary.cases > 0) ++with_percent;
  }
  if (with_percent > 1) {
    table.rule();
    summary_row(table, "all", result.overall, "%", "");
  }
  return table.str();
}

}  // namespace

std::string report_table(const Validation& validation, const ValidationResult& result) {
  std::string out = validation.description + "\n\n";
  for (const GroupResult& group : result.groups) {
    out += fmt::format("{} ({})\n\n", group_title(group), count_text(group));
    if (!group.cases.empty() && group.kind != "trace") {
      const bool in_short = !group.curves.empty() && group.cases.size() > most_rows;
      out += in_short ? curve_table(group) : case_table(group);
      if (!group.curves.empty() && !in_short) out += "\n" + curve_table(group);
      out += "\n";
    }
    if (!group.metrics.empty()) out += metric_table(group) + "\n";
  }
  out += summary_table(result);
  if (result.unused_expected > 0)
    out += fmt::format("\n{} value{} of '{}' ha{} no case here\n", result.unused_expected,
                       result.unused_expected == 1 ? "" : "s", validation.expected_file,
                       result.unused_expected == 1 ? "s" : "ve");
  return out;
}

}  // namespace moire::validate
