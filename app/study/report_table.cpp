// Makes the tables of a study for people.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/study/report.hpp"

namespace moire::study {

namespace {

using report::Cell;
using report::left;
using report::percent;
using report::right;

// Returns the unit in which the times of these runs are shown. It fits the longest time.
report::TimeUnit unit_for(const RunResult* runs, std::size_t count) {
  Time longest;
  for (std::size_t r = 0; r < count; ++r) longest = std::max(longest, runs[r].time);
  return report::unit_for(longest);
}

// Returns this metric of the run's only collective. Empty if there are several, because a column has one value per run.
std::optional<double> only_one(const RunResult& run, std::string_view kind) {
  std::optional<double> only;
  for (const Metric& metric : run.metrics) {
    if (!metric.is(kind)) continue;
    if (only) return std::nullopt;
    only = metric.value;
  }
  return only;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> bandwidths = {
    {{"algbw GB/s", "<operation>_algbw_gb_per_s"}, {"busbw GB/s", "<operation>_busbw_gb_per_s"}}};

void add_bandwidth_columns(const StudyResult& result, report::Table& table) {
  const bool any = std::any_of(result.runs.begin(), result.runs.end(),
                               [](const RunResult& run) { return only_one(run, bandwidths[0].second).has_value(); });
  for (const auto& [heading, kind] : bandwidths)
    table.columns.push_back(right(std::string(heading), any ? report::in::people : 0));
}

void add_bandwidth_cells(const RunResult& run, std::vector<Cell>& cells) {
  for (const auto& [heading, kind] : bandwidths) {
    const auto value = only_one(run, kind);
    cells.push_back(value ? Cell(report::Number{.value = *value, .style = report::Number::Style::telling}) : Cell());
  }
}

// Columns for runs with an operating point.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> powers = {
    {{"clock MHz", "clock_mhz"}, {"power W", "power_mean_w"}, {"energy J", "energy_j"}}};

void add_power_columns(const StudyResult& result, report::Table& table) {
  for (const auto& [heading, name] : powers) {
    const bool any = std::any_of(result.runs.begin(), result.runs.end(), [name = name](const RunResult& run) {
      return value_of(run.metrics, name).has_value();
    });
    table.columns.push_back(right(std::string(heading), any ? report::in::people : 0));
  }
}

void add_power_cells(const RunResult& run, std::vector<Cell>& cells) {
  for (const auto& [heading, name] : powers) {
    const auto value = value_of(run.metrics, name);
    cells.push_back(value ? Cell(report::Number{.value = *value, .style = report::Number::Style::telling}) : Cell());
  }
}

// Columns for runs with a `perturb`: the slow-down, and the mean times of ranks in the only collective.
void add_perturbed_columns(const StudyResult& result, report::Table& table) {
  const auto any = [&](auto has) {
    return std::any_of(result.runs.begin(), result.runs.end(), has) ? report::in::people : 0;
  };
  table.columns.push_back(right(
      "slow-down", any([](const RunResult& run) { return value_of(run.metrics, "slow_down_percent").has_value(); })));
  const unsigned perturbed = any(
      [](const RunResult& run) { return run.perturbed && only_one(run, "<operation>_rank_wait_mean_us").has_value(); });
  table.columns.push_back(right("wait", perturbed));
  table.columns.push_back(right("move", perturbed));
}

void add_perturbed_cells(const RunResult& run, std::vector<Cell>& cells) {
  const auto slower = value_of(run.metrics, "slow_down_percent");
  cells.push_back(slower ? Cell(percent(*slower)) : Cell());
  for (const char* kind : {"<operation>_rank_wait_mean_us", "<operation>_rank_move_mean_us"}) {
    const auto mean = only_one(run, kind);
    const Time time = Time::from_us(mean.value_or(0));
    cells.push_back(mean ? Cell(in_unit(time, report::unit_for(time))) : Cell());
  }
}

// Columns for compare.spread: the times on the fastest and on the slowest GPUs of their type.
constexpr std::array<std::pair<const char*, const char*>, 2> ends = {
    {{"fastest", "fastest_us"}, {"slowest", "slowest_us"}}};

void add_spread_columns(const StudyResult& result, report::Table& table) {
  for (const auto& [heading, name] : ends) {
    const bool any = std::any_of(result.runs.begin(), result.runs.end(), [name = name](const RunResult& run) {
      return value_of(run.metrics, name).has_value();
    });
    table.columns.push_back(right(heading, any ? report::in::people : 0));
  }
}

void add_spread_cells(const RunResult& run, std::vector<Cell>& cells) {
  for (const auto& [heading, name] : ends) {
    const auto end = value_of(run.metrics, name);
    const Time time = Time::from_us(end.value_or(0));
    cells.push_back(end ? Cell(in_unit(time, report::unit_for(time))) : Cell());
  }
}

std::string last_key(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

// Returns the headings of the axes. A heading is the last key of the axis's path if no other axis has this key, else
// the whole path.
std::vector<std::string> axis_headings(const Scenario& scenario) {
  std::vector<std::string> headings;
  for (const Axis& axis : scenario.axes) headings.push_back(last_key(axis.name));
  for (std::size_t a = 0; a < headings.size(); ++a) {
    const auto same = [&](const Axis& other) { return last_key(other.name) == last_key(scenario.axes[a].name); };
    if (std::count_if(scenario.axes.begin(), scenario.axes.end(), same) > 1) headings[a] = scenario.axes[a].name;
  }
  return headings;
}

// Returns the table of all metrics of a single run.
report::Table metric_list(const RunResult& run) {
  report::Table table{.columns = {left("metric"), right("value"), left("unit")}};
  for (const Metric& metric : run.metrics)
    table.row({metric.name, report::Number{.value = metric.value, .digits = 3, .style = report::Number::Style::counted},
               unit_of(metric.name)});
  return table;
}

Cell share_of(const std::optional<double>& fraction) { return fraction ? Cell(report::share(*fraction)) : Cell(); }

Cell ideal_cell(const RunResult& run) { return share_of(value_of(run.metrics, "fraction_of_ideal")); }

bool any_ideal(const StudyResult& result) {
  return std::any_of(result.runs.begin(), result.runs.end(),
                     [](const RunResult& run) { return value_of(run.metrics, "fraction_of_ideal").has_value(); });
}

// Returns a time in `unit`, or in the unit that fits this time if the number in `unit` would be below 0.1.
report::Number in_its_unit(Time time, report::TimeUnit unit) {
  report::Number shared = in_unit(time, unit);
  return shared.value < 0.1 ? in_unit(time, report::unit_for(time)) : shared;
}

Cell time_cell(const RunResult& run, report::TimeUnit unit) {
  switch (run.end) {
    case RunEnd::well:
      return in_its_unit(run.time, unit);
    case RunEnd::deadlock:
      return "deadlock";
    case RunEnd::failure:
      return "failed";
    case RunEnd::interrupted:
      return "not finished";
  }
  return {};
}

// Returns the table of a scenario with variants and one point: a row for each variant.
report::Table variant_rows(const Scenario& scenario, const StudyResult& result) {
  const report::TimeUnit unit = unit_for(result.runs.data(), result.runs.size());
  const unsigned compared = scenario.compare_to ? report::in::people : 0;
  report::Table table{.columns = {left("variant"), right("time"), right("reduction", compared),
                                  right("speedup", compared),
                                  right("overlap efficiency", scenario.compute_only ? report::in::people : 0),
                                  right("of ideal", any_ideal(result) ? report::in::people : 0)}};
  add_spread_columns(result, table);
  add_perturbed_columns(result, table);
  add_bandwidth_columns(result, table);
  add_power_columns(result, table);
  for (std::size_t v = 0; v < scenario.variants.size(); ++v) {
    std::vector<Cell> cells = {scenario.variants[v].name, time_cell(result.runs[v], unit), {}, {}, {}};
    if (scenario.compare_to && v != *scenario.compare_to && result.comparison[v]) {
      cells[2] = percent(result.comparison[v]->reduction_percent);
      cells[3] = report::factor(result.comparison[v]->speedup);
      cells[4] = share_of(result.comparison[v]->overlap_efficiency);
    }
    cells.push_back(ideal_cell(result.runs[v]));
    add_spread_cells(result.runs[v], cells);
    add_perturbed_cells(result.runs[v], cells);
    add_bandwidth_cells(result.runs[v], cells);
    add_power_cells(result.runs[v], cells);
    table.row(std::move(cells));
  }
  return table;
}

std::vector<Cell> point_cells(const Scenario& scenario, std::size_t point) {
  const Run run = run_of(scenario, point * std::max<std::size_t>(1, scenario.variants.size()));
  std::vector<Cell> cells;
  for (std::size_t a = 0; a < scenario.axes.size(); ++a) cells.emplace_back(run.choices[a]->name);
  return cells;
}

// Returns the table of a scenario with several points and no variants: a row for each point.
report::Table point_rows(const Scenario& scenario, const StudyResult& result) {
  report::Table table;
  for (const std::string& heading : axis_headings(scenario)) table.columns.push_back(left(heading));
  table.columns.push_back(right("time"));
  table.columns.push_back(right("skew"));
  add_spread_columns(result, table);
  add_perturbed_columns(result, table);
  table.columns.push_back(right("of ideal", any_ideal(result) ? report::in::people : 0));
  add_bandwidth_columns(result, table);
  add_power_columns(result, table);
  for (std::size_t point = 0; point < scenario.points(); ++point) {
    const RunResult& run = result.runs[point];
    std::vector<Cell> cells = point_cells(scenario, point);
    cells.push_back(time_cell(run, unit_for(&run, 1)));
    const auto skew = value_of(run.metrics, "skew_percent");
    cells.push_back(skew ? Cell(percent(*skew)) : Cell());
    add_spread_cells(run, cells);
    add_perturbed_cells(run, cells);
    cells.push_back(ideal_cell(run));
    add_bandwidth_cells(run, cells);
    add_power_cells(run, cells);
    table.row(std::move(cells));
  }
  return table;
}

// Returns the table of a scenario with several points and variants: points are rows, variants are columns.
report::Table comparison_table(const Scenario& scenario, const StudyResult& result) {
  const std::size_t variants = scenario.variants.size();
  const bool efficiency = scenario.compute_only.has_value();  // shown in place of the reduction
  const auto compared = [&](std::size_t v) {
    return scenario.compare_to && v != *scenario.compare_to && v != scenario.compute_only;
  };
  report::Table table;
  for (const std::string& heading : axis_headings(scenario)) table.columns.push_back(left(heading));
  for (const Choice& variant : scenario.variants) table.columns.push_back(right(variant.name));
  for (std::size_t v = 0; v < variants; ++v) {
    // With two variants, there is only one reduction, so its heading needs no name.
    if (compared(v))
      table.columns.push_back(right(variants == 2 ? "reduction"
                                    : efficiency  ? scenario.variants[v].name + " E"
                                                  : scenario.variants[v].name + " reduction"));
  }
  const bool ideal = any_ideal(result);
  for (std::size_t v = 0; ideal && v < variants; ++v)
    table.columns.push_back(right(scenario.variants[v].name + " of ideal"));
  for (std::size_t point = 0; point < scenario.points(); ++point) {
    std::vector<Cell> cells = point_cells(scenario, point);
    const auto run = [&](std::size_t v) -> const RunResult& { return result.runs[point * variants + v]; };
    const report::TimeUnit unit = unit_for(&run(0), variants);
    for (std::size_t v = 0; v < variants; ++v) cells.push_back(time_cell(run(v), unit));
    for (std::size_t v = 0; v < variants; ++v) {
      if (!compared(v)) continue;
      const auto& row = result.comparison[point * variants + v];
      cells.push_back(!row ? Cell() : efficiency ? share_of(row->overlap_efficiency) : percent(row->reduction_percent));
    }
    for (std::size_t v = 0; ideal && v < variants; ++v) cells.push_back(ideal_cell(run(v)));
    table.row(std::move(cells));
  }
  if (!result.summary.empty()) table.rule();
  for (const SummaryKind kind : scenario.summary) {
    if (result.summary.empty()) break;
    const auto summary = [&](std::size_t v) {
      return std::find_if(result.summary.begin(), result.summary.end(),
                          [&](const SummaryRow& one) { return one.kind == kind && one.variant == v; });
    };
    const auto none = result.summary.end();
    std::vector<Cell> cells = {to_string(kind)};
    cells.resize(scenario.axes.size() + variants);
    for (std::size_t v = 0; v < variants; ++v)
      if (compared(v))
        cells.push_back(summary(v) == none ? Cell()
                        : efficiency       ? share_of(summary(v)->overlap_efficiency)
                                           : Cell(percent(summary(v)->reduction_percent)));
    for (std::size_t v = 0; ideal && v < variants; ++v)
      cells.push_back(summary(v) == none ? Cell() : share_of(summary(v)->fraction_of_ideal));
    table.row(std::move(cells));
  }
  return table;
}

}  // namespace

report::Table results_table(const Scenario& scenario, const StudyResult& result) {
  if (result.runs.size() == 1) return metric_list(result.runs.front());
  if (scenario.variants.empty()) return point_rows(scenario, result);
  if (scenario.points() == 1) return variant_rows(scenario, result);
  return comparison_table(scenario, result);
}

report::Table stats_table(const Scenario& scenario, const StudyResult& result) {
  report::Table table{.columns = {left("run"), right("events"), right("events/s"), right("instants"), right("solves"),
                                  right("wall"), right("peak memory"), left("simulated")}};
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    if (!result.runs[number].ended_well()) continue;
    const RunStats& stats = result.runs[number].stats;
    const replay::Fold& fold = result.runs[number].fold;
    const std::string label = run_of(scenario, number).label();
    table.row(
        {label.empty() ? scenario.name : label, stats.events,
         report::Number{.value = static_cast<double>(stats.events) / stats.wall_seconds,
                        .style = report::Number::Style::exponent},
         stats.instants, stats.solves, report::Number{.value = stats.wall_seconds, .unit = "s"},
         report::Number{.value = static_cast<double>(stats.peak_memory_bytes) / (1 << 20), .unit = "MiB", .digits = 0},
         fold.images > 1        ? fmt::format("1 of {} blocks", fold.images)
         : fold.why_not.empty() ? std::string("all ranks")
                                : fmt::format("all ranks: {}", fold.why_not)});
  }
  return table;
}

}  // namespace moire::study
