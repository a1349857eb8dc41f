#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/report/table.hpp"
#include "app/study/report.hpp"
#include "sim/config/units.hpp"

namespace moire::study {

namespace {

using Align = report::Table::Align;

// One unit for a whole table, so that a column can be compared at a glance.
struct TimeUnit {
  const char* name;
  double ps;
};

TimeUnit unit_for(const std::vector<RunResult>& runs) {
  Time longest;
  for (const RunResult& run : runs) longest = std::max(longest, run.time);
  if (longest < Time::from_us(10'000)) return {"us", 1e6};
  if (longest < Time::from_seconds(10)) return {"ms", 1e9};
  return {"s", 1e12};
}

std::string time_text(Time time, const TimeUnit& unit) {
  return fmt::format("{:.2f} {}", static_cast<double>(time.ps) / unit.ps, unit.name);
}

std::string percent_text(double percent) { return fmt::format("{:.1f} %", percent + 0.0); }
std::string ideal_text(std::optional<double> fraction) { return fraction ? percent_text(100 * *fraction) : ""; }
std::string speedup_text(double speedup) { return fmt::format("{:.3f} x", speedup); }

// A value without the digits that say nothing: counts whole, all else with three decimals at most.
std::string number_text(double value) {
  if (value == static_cast<double>(static_cast<std::int64_t>(value))) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3f}", value);
}

std::string last_key(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

// One run: its metrics.
std::string metric_list(const RunResult& run) {
  report::Table table;
  table.column("metric", Align::left);
  table.column("value", Align::right);
  table.column("unit", Align::left);
  for (const Metric& metric : run.metrics) {
    table.row({metric.name, number_text(metric.value), std::string(unit_of(metric.name))});
  }
  return table.str();
}

std::optional<double> fraction_of_ideal(const RunResult& run) { return value_of(run.metrics, "fraction_of_ideal"); }

bool any_ideal(const StudyResult& result) {
  return std::any_of(result.runs.begin(), result.runs.end(),
                     [](const RunResult& run) { return fraction_of_ideal(run).has_value(); });
}

// Variants at one point: a row each.
std::string variant_rows(const Scenario& scenario, const StudyResult& result) {
  const TimeUnit unit = unit_for(result.runs);
  report::Table table;
  table.column("variant", Align::left);
  table.column("time", Align::right);
  if (scenario.compare_to) {
    table.column("reduction", Align::right);
    table.column("speedup", Align::right);
  }
  const bool ideal = any_ideal(result);
  if (ideal) table.column("of ideal", Align::right);
  for (std::size_t v = 0; v < scenario.variants.size(); ++v) {
    std::vector<std::string> cells = {scenario.variants[v].name, time_text(result.runs[v].time, unit)};
    if (scenario.compare_to && v != *scenario.compare_to) {
      cells.push_back(percent_text(result.comparison[v].reduction_percent));
      cells.push_back(speedup_text(result.comparison[v].speedup));
    } else if (scenario.compare_to) {
      cells.insert(cells.end(), 2, "");
    }
    if (ideal) cells.push_back(ideal_text(fraction_of_ideal(result.runs[v])));
    table.row(std::move(cells));
  }
  return table.str();
}

std::vector<std::string> point_cells(const Scenario& scenario, std::size_t point) {
  const Run run = run_of(scenario, point * std::max<std::size_t>(1, scenario.variants.size()));
  std::vector<std::string> cells;
  for (std::size_t a = 0; a < scenario.axes.size(); ++a) cells.push_back(run.choices[a]->name);
  return cells;
}

// Points without variants: a row each.
std::string point_rows(const Scenario& scenario, const StudyResult& result) {
  const TimeUnit unit = unit_for(result.runs);
  report::Table table;
  for (const std::string& heading : axis_headings(scenario)) table.column(heading, Align::left);
  table.column("time", Align::right);
  table.column("skew", Align::right);
  const bool ideal = any_ideal(result);
  if (ideal) table.column("of ideal", Align::right);
  for (std::size_t point = 0; point < scenario.points(); ++point) {
    const RunResult& run = result.runs[point];
    auto cells = point_cells(scenario, point);
    cells.push_back(time_text(run.time, unit));
    const auto skew = value_of(run.metrics, "skew_percent");
    cells.push_back(skew ? percent_text(*skew) : "");
    if (ideal) cells.push_back(ideal_text(fraction_of_ideal(run)));
    table.row(std::move(cells));
  }
  return table.str();
}

// Points down, variants across.
std::string comparison_table(const Scenario& scenario, const StudyResult& result) {
  const TimeUnit unit = unit_for(result.runs);
  const std::size_t variants = scenario.variants.size();
  const auto compared = [&](std::size_t v) { return scenario.compare_to && v != *scenario.compare_to; };
  report::Table table;
  for (const std::string& heading : axis_headings(scenario)) table.column(heading, Align::left);
  for (std::size_t v = 0; v < variants; ++v) table.column(scenario.variants[v].name, Align::right);
  for (std::size_t v = 0; v < variants; ++v) {
    // With two variants there is only one reduction to speak of.
    if (compared(v)) table.column(variants == 2 ? "reduction" : scenario.variants[v].name + " reduction", Align::right);
  }
  const bool ideal = any_ideal(result);
  for (std::size_t v = 0; ideal && v < variants; ++v) {
    table.column(scenario.variants[v].name + " of ideal", Align::right);
  }
  for (std::size_t point = 0; point < scenario.points(); ++point) {
    auto cells = point_cells(scenario, point);
    for (std::size_t v = 0; v < variants; ++v) cells.push_back(time_text(result.runs[point * variants + v].time, unit));
    for (std::size_t v = 0; v < variants; ++v) {
      if (compared(v)) cells.push_back(percent_text(result.comparison[point * variants + v].reduction_percent));
    }
    for (std::size_t v = 0; ideal && v < variants; ++v) {
      cells.push_back(ideal_text(fraction_of_ideal(result.runs[point * variants + v])));
    }
    table.row(std::move(cells));
  }
  if (!result.summary.empty()) table.rule();
  for (const SummaryKind kind : scenario.summary) {
    std::vector<std::string> cells = {std::string(to_string(kind))};
    cells.resize(scenario.axes.size() + variants);
    for (const SummaryRow& row : result.summary) {
      if (row.kind == kind) cells.push_back(percent_text(row.reduction_percent));
    }
    for (std::size_t v = 0; ideal && v < variants; ++v) {
      const auto row = std::find_if(result.summary.begin(), result.summary.end(),
                                    [&](const SummaryRow& one) { return one.kind == kind && one.variant == v; });
      cells.push_back(row == result.summary.end() ? "" : ideal_text(row->fraction_of_ideal));
    }
    table.row(std::move(cells));
  }
  return table.str();
}

}  // namespace

std::vector<std::string> axis_headings(const Scenario& scenario) {
  std::vector<std::string> headings;
  for (const Axis& axis : scenario.axes) headings.push_back(last_key(axis.name));
  for (std::size_t a = 0; a < headings.size(); ++a) {
    const auto same = [&](const Axis& other) { return last_key(other.name) == last_key(scenario.axes[a].name); };
    if (std::count_if(scenario.axes.begin(), scenario.axes.end(), same) > 1) headings[a] = scenario.axes[a].name;
  }
  return headings;
}

std::string report_table(const Scenario& scenario, const StudyResult& result) {
  const auto results = [&] {
    if (result.runs.size() == 1) return metric_list(result.runs.front());
    if (scenario.variants.empty()) return point_rows(scenario, result);
    if (scenario.points() == 1) return variant_rows(scenario, result);
    return comparison_table(scenario, result);
  };
  return scenario.description + "\n\n" + results() + report_blame(scenario, result) + report_recorded(scenario, result);
}

std::string report_stats(const Scenario& scenario, const StudyResult& result) {
  report::Table table;
  table.column("run", Align::left);
  for (const char* heading : {"events", "events/s", "instants", "solves", "wall", "peak memory"}) {
    table.column(heading, Align::right);
  }
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    const RunStats& stats = result.runs[number].stats;
    const std::string label = run_of(scenario, number).label();
    table.row({label.empty() ? scenario.name : label, fmt::format("{}", stats.events),
               fmt::format("{:.2e}", static_cast<double>(stats.events) / stats.wall_seconds),
               fmt::format("{}", stats.instants), fmt::format("{}", stats.solves),
               fmt::format("{:.2f} s", stats.wall_seconds),
               fmt::format("{:.0f} MiB", static_cast<double>(stats.peak_memory_bytes) / (1 << 20))});
  }
  return table.str();
}

}  // namespace moire::study
