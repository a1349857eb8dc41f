#include "app/evidence/validate/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/validate/figures.hpp"
#include "app/report/values.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

namespace in = report::in;
using report::Cell;
using report::Field;
using report::left;
using report::Mark;
using report::right;
using report::Table;

constexpr std::size_t most_rows = 100;  // if a group with curves has more cases, the text omits its table of cases
constexpr int decimals = 6;             // decimals of errors and of values in percentage points, in JSON and CSV

report::Number to_programs(double value) { return {.value = value, .decimals = decimals}; }

// Returns the table cell of a case's value. A value in percentage points gets as many decimals as an error.
Cell value_cell(const std::optional<double>& value, const Case& one) {
  if (!value) return {};
  report::Number number = value_of(*value);
  if (one.in_points) number.decimals = decimals;
  return number;
}

Cell error_cell(const std::optional<double>& error, const std::string& unit) {
  return error ? Cell(error_of(*error, unit)) : nullptr;
}

bool any(const std::vector<Case>& cases, std::optional<double> Case::*member) {
  return std::any_of(cases.begin(), cases.end(), [member](const Case& one) { return (one.*member).has_value(); });
}

// Returns the group's limit on the error of a case, or infinity without a limit. HTML pages mark cases above the limit.
double most_of_case(const GroupResult& group) {
  double most = std::numeric_limits<double>::infinity();
  for (const Limit& limit : group.limits)
    if (limit.on == "case") most = limit.most;
  return most;
}

// Returns the table of all cases. The text format omits the columns `metric`, `low` and `high` if they tell nothing. An
// HTML page always shows the unit and the smallest and largest repetition.
Table case_table(const GroupResult& group) {
  const auto text_where = [](bool useful) { return useful ? in::text : 0; };
  const unsigned units = text_where(!has_one_metric(group));
  const unsigned spread = text_where(any(group.cases, &Case::low) || any(group.cases, &Case::high));
  const unsigned expected = any(group.cases, &Case::expected) ? in::people : 0;
  Table table{.key = "cases",
              .columns = {left("group", in::csv), left("curve", in::csv), left("case"), left("curve", in::json),
                          left("metric", units | in::page | in::programs), left("unit", in::programs),
                          right("measured"), right("low", spread | in::page | in::programs),
                          right("high", spread | in::page | in::programs), right("expected", expected | in::programs),
                          right("expected_error", in::json), right("simulated"), left("unit", units | in::page),
                          right("expected error", expected), right("error"), left("error_unit", in::csv)}};
  const double most = most_of_case(group);
  for (const Case& one : group.cases) {
    const Cell curve = one.curve.empty() ? Cell() : Cell(one.curve);
    const auto error = one.error();
    const Cell expected_error = one.expected ? error_cell(one.expected_error(), group.error_unit) : Cell();
    const Mark mark = error && std::abs(*error) > most ? Mark::beyond : Mark::none;
    table.row({group.name, curve, one.name, curve, one.metric, one.unit,
               one.measured ? value_cell(one.measured, one) : nullptr, value_cell(one.low, one),
               value_cell(one.high, one), value_cell(one.expected, one), expected_error, value_cell(one.simulated, one),
               one.unit, expected_error, error_cell(error, group.error_unit).marked(mark), group.error_unit});
  }
  return table;
}

Cell::Record record_of(const Summary& summary, const std::string& worst_case) {
  Cell::Record record = {{"cases", summary.cases}};
  if (summary.cases == 0) return record;
  record.push_back({"mean", to_programs(summary.mean)});
  record.push_back({"median", to_programs(summary.median)});
  record.push_back({"percentile_95", to_programs(summary.percentile_95)});
  record.push_back({"worst", to_programs(summary.worst)});
  if (!worst_case.empty()) record.push_back({"worst_case", worst_case});
  record.push_back({"bias", to_programs(summary.bias)});
  return record;
}

Table curve_table(const GroupResult& group) {
  Table table{.columns = {left("curve"), right("points"), right("mean error"), right("worst"), left("at")}};
  for (const Curve& curve : group.curves)
    table.row({curve.name, curve.summary.cases, size_of(curve.summary.mean, group.error_unit),
               size_of(curve.summary.worst, group.error_unit), worst_text(curve)});
  return table;
}

Cell::List curves(const GroupResult& group) {
  Cell::List list;
  for (const Curve& curve : group.curves) {
    Cell::Record record = record_of(curve.summary, curve.worst_case);
    record.insert(record.begin(), {"curve", curve.name});
    list.emplace_back(std::move(record));
  }
  return list;
}

Table metric_table(const GroupResult& group) {
  Table table{.columns = {left("metric"), right("value"), left("unit")}};
  for (const study::Metric& metric : group.metrics)
    table.row({metric.name, value_of(metric.value), study::unit_of(metric.name)});
  return table;
}

Table limit_table(const GroupResult& group) {
  Table table{.key = "limits", .columns = {left("on"), left("at"), right("limit"), right("value"), left("held")}};
  for (const Limit& limit : group.limits)
    table.row(
        {limit.on, limit.at.empty() ? Cell() : Cell(limit.at), limit.most, to_programs(limit.value), limit.held()});
  return table;
}

std::vector<Cell> summary_cells(const std::string& name, const Summary& summary, const std::string& unit) {
  std::vector<Cell> cells = {name, summary.cases};
  for (const double size : {summary.mean, summary.median, summary.percentile_95, summary.worst})
    cells.push_back(summary.cases == 0 ? Cell() : Cell(size_of(size, unit)));
  cells.push_back(summary.cases == 0 ? Cell() : Cell(error_of(summary.bias, unit)));
  return cells;
}

Table empty_summary() {
  return {.columns = {left("errors"), right("cases"), right("mean"), right("median"), right("95th percentile"),
                      right("worst"), right("bias"), left("limits")}};
}

// Returns the last table of the text format. Its rows are the groups, with the limits that each group exceeds.
Table text_summary(const ValidationResult& result) {
  Table table = empty_summary();
  std::size_t with_percent = 0;
  for (const GroupResult& group : result.groups) {
    std::vector<Cell> cells = summary_cells(group.name, group.summary, group.error_unit);
    if (group.summary.cases == 0 && !group.metrics.empty()) cells[1] = {};
    cells.emplace_back(outcome_text(group));
    table.row(std::move(cells));
    if (group.expected_summary.cases > 0)
      table.row(summary_cells(group.name + ", as expected", group.expected_summary, group.error_unit));
    if (has_own_errors(group) && group.kind != "trace" && group.summary.cases > 0) ++with_percent;
  }
  if (with_percent > 1) {
    table.rule();
    table.row(summary_cells("all", result.overall, "%"));
  }
  return table;
}

// Returns the first table of an HTML page. It lists all limits of each group, except limits on curves that are held.
Table page_summary(const ValidationResult& result) {
  Table table = empty_summary();
  for (const GroupResult& group : result.groups) {
    std::vector<Cell> cells = summary_cells(group.name, group.summary, group.error_unit);
    std::vector<std::string> limits;
    bool held = true;
    for (const Limit& limit : group.limits) {
      held = held && limit.held();
      if (limit.on != "curve" || !limit.held()) limits.push_back(limit_text(limit, group));
    }
    const Mark mark = group.limits.empty() ? Mark::none : held ? Mark::held : Mark::beyond;
    cells.push_back(Cell(config::join(limits, "; ")).marked(mark));
    table.row(std::move(cells));
    if (group.expected_summary.cases > 0)
      table.row(summary_cells(group.name + ", as expected", group.expected_summary, group.error_unit));
  }
  if (result.overall.cases > 0) table.row(summary_cells("all", result.overall, "%"));
  return table;
}

Cell::List measured(const GroupResult& group) {
  Cell::List list;
  for (const Origin& origin : group.origins) {
    Cell::Record about;
    for (const auto& [key, value] : origin.about) about.push_back({key, report::count_or_text(value)});
    Cell::Record one;
    if (!origin.file.empty()) one.push_back({"file", origin.file});
    one.push_back({"about", std::move(about)});
    list.emplace_back(std::move(one));
  }
  return list;
}

report::Section section_of(const GroupResult& group) {
  report::Section section;
  section.key = "groups";
  section.heading = group_title(group);
  section.about = count_text(group);
  section.add(report::Figures{figures_of(group)}, in::page);
  section.add(Field{"name", group.name});
  section.add(Field{"kind", group.kind});
  section.add(Field{"error_unit", group.error_unit});
  section.add(Field{"measured", measured(group)});
  Table cases = case_table(group);
  const bool in_short = !group.curves.empty() && group.cases.size() > most_rows;
  const bool readable = !group.cases.empty() && group.kind != "trace";
  section.add(cases, readable && !in_short ? in::text | in::programs : in::programs);
  section.add(Field{"left_out", group.left_out});
  section.add(Field{"summary", record_of(group.summary, group.worst_case)});
  if (group.expected_summary.cases > 0) section.add(Field{"expected_summary", record_of(group.expected_summary, "")});
  if (!group.curves.empty()) {
    section.add(Field{"curves", curves(group)});
    section.add(curve_table(group), readable ? in::people : in::page);
  }
  if (!group.metrics.empty()) {
    Cell::Record metrics;
    for (const study::Metric& metric : group.metrics) metrics.push_back({metric.name, metric.value});
    section.add(Field{"metrics", std::move(metrics)});
    section.add(metric_table(group), in::people);
  }
  section.add(limit_table(group), in::json);
  if (!group.cases.empty()) section.add(std::move(cases), in::page);
  return section;
}

// Adds the start of an HTML page: the exceeded limits, or a note that all limits are held or that there are none.
void add_verdict(const ValidationResult& result, report::Document& document) {
  const std::vector<std::string> beyond = beyond_limits(result);
  const bool limited = std::any_of(result.groups.begin(), result.groups.end(),
                                   [](const GroupResult& group) { return !group.limits.empty(); });
  if (!beyond.empty())
    document.add(report::List{beyond, Mark::beyond}, in::page);
  else if (limited)
    document.add(report::Note{"All limits are held.", Mark::held}, in::page);
  else
    document.add(report::Note{"No limits are declared."}, in::page);
  if (result.unused_expected > 0)
    document.add(
        report::Note{fmt::format("{} of the expected values have no case here.", result.unused_expected), Mark::note},
        in::page);
}

// Returns a section that lists the files of measured values. A file that several groups read is listed once.
report::Section origins(const ValidationResult& result) {
  report::Terms terms;
  const auto told = [&terms](const std::string& name) {
    return std::any_of(terms.terms.begin(), terms.terms.end(), [&](const auto& term) { return term.first == name; });
  };
  for (const GroupResult& group : result.groups) {
    for (const Origin& origin : group.origins) {
      const std::string name = origin.file.empty() ? group.name : origin.file;
      if (told(name)) continue;
      std::vector<std::string> said;
      for (const auto& [key, value] : origin.about) said.push_back(key + (value.empty() ? "" : ": ") + value);
      terms.terms.emplace_back(name, std::move(said));
    }
  }
  report::Section section;
  section.heading = "Where the measured values come from";
  section.add(std::move(terms));
  return section;
}

}  // namespace

report::Document document_of(const Validation& validation, const ValidationResult& result, const std::string& version) {
  report::Document document;
  document.title = validation.description;
  document.add(Field{"validation", validation.name});
  document.add(Field{"description", validation.description});
  document.add(report::Note{fmt::format("moire validate {}, Moire {}. An error is simulated / measured - 1, or the "
                                        "difference in percentage points. Mean, median, 95th percentile and worst are "
                                        "of absolute errors; the bias is the mean of signed errors.",
                                        validation.name, version),
                            Mark::note},
               in::page);
  add_verdict(result, document);
  document.add(page_summary(result), in::page);
  document.add(report::Figures{overall_figures(result)}, in::page);
  if (result.groups.empty()) document.add(Field{"groups", Cell::List()});
  for (const GroupResult& group : result.groups) document.add(section_of(group), in::all);
  document.add(Field{"overall", record_of(result.overall, "")});
  document.add(Field{"passed", result.passed()});
  document.add(text_summary(result), in::text);
  if (result.unused_expected > 0)
    document.add(
        report::Note{fmt::format("{} of '{}' ha{} no case here", report::plural(result.unused_expected, "value"),
                                 validation.expected_file, result.unused_expected == 1 ? "s" : "ve")},
        in::text);
  document.add(origins(result), in::page);
  if (!validation.expected_file.empty())
    document.add(report::Note{"Expected values: " + validation.expected_file}, in::page);
  return document;
}

}  // namespace moire::validate
