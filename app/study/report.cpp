#include "app/study/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/report/values.hpp"

namespace moire::study {

namespace {

namespace in = report::in;
using report::Cell;
using report::Field;
using report::left;
using report::right;

// Returns a number for a cell. In JSON a number without a fraction, such as a count, has no decimal point.
report::Number number(double value) { return {.value = value, .whole_where_it_is = true}; }

std::vector<std::string> metric_names(const StudyResult& result) {
  std::vector<std::string> names;
  for (const RunResult& run : result.runs) {
    for (const Metric& metric : run.metrics) {
      if (std::find(names.begin(), names.end(), metric.name) == names.end()) names.push_back(metric.name);
    }
  }
  return names;
}

Cell::Record parameters(const Scenario& scenario, const Run& run) {
  Cell::Record record;
  for (const auto& [path, value] : parameters_of(scenario, run)) record.push_back({path, report::value_of(value)});
  return record;
}

Cell::Record metrics(const RunResult& result) {
  Cell::Record record;
  for (const Metric& metric : result.metrics) record.push_back({metric.name, number(metric.value)});
  return record;
}

// Returns the number of blocks into which the nodes were divided, and why there are not more blocks. Only one block was
// simulated, on behalf of all. Empty if there is one block and no reason to report.
Cell simulated(const RunResult& result) {
  if (result.fold.images == 1 && result.fold.why_not.empty()) return {};
  Cell::Record record = {{"blocks", number(result.fold.images)}};
  if (!result.fold.why_not.empty()) record.push_back({"why_not_more", result.fold.why_not});
  return Cell(std::move(record));
}

// Lists the points. A point of an axis of values is written as its value, a named point as its name.
Cell::List points(const Scenario& scenario) {
  Cell::List list;
  for (std::size_t point = 0; point < scenario.points(); ++point) {
    const Run run = run_of(scenario, point * std::max<std::size_t>(1, scenario.variants.size()));
    Cell::Record labels;
    for (std::size_t a = 0; a < scenario.axes.size(); ++a)
      labels.push_back({scenario.axes[a].name, report::value_of(run.choices[a]->name)});
    list.emplace_back(std::move(labels));
  }
  return list;
}

// Lists every metric of every run. A run may lack metrics that other runs have, because operations differ between
// variants. CSV has the names of points and variants; JSON also has the changes that points and variants make.
report::Table runs_table(const Scenario& scenario, const StudyResult& result) {
  report::Table table{.key = "runs"};
  const std::vector<std::string> names = metric_names(result);
  for (const Axis& axis : scenario.axes) table.columns.push_back(left(axis.name, in::csv));
  table.columns.push_back(left("point", scenario.axes.empty() ? 0 : in::json));
  table.columns.push_back(left("variant", scenario.variants.empty() ? 0 : in::programs));
  for (const char* key : {"parameters", "time_us", "metrics"}) table.columns.push_back(left(key, in::json));
  const bool noted =
      std::any_of(result.runs.begin(), result.runs.end(), [](const RunResult& run) { return !run.notes.empty(); });
  table.columns.push_back(left("notes", noted ? in::json : 0));
  const bool several_nodes = std::any_of(result.runs.begin(), result.runs.end(), [](const RunResult& run) {
    return run.fold.images > 1 || !run.fold.why_not.empty();
  });
  table.columns.push_back(left("simulated", several_nodes ? in::json : 0));
  for (const std::string& name : names) table.columns.push_back(left(name, in::csv));
  const bool failed = result.ended_well() < result.runs.size();
  table.columns.push_back(left("failure", failed ? in::programs : 0));
  const unsigned compared = result.comparison.empty() ? 0 : in::csv;
  // A run that is compared with an ideal has a metric "speedup" already.
  const bool taken = std::find(names.begin(), names.end(), "speedup") != names.end();
  for (const char* key : {"reduction_percent", taken ? "comparison_speedup" : "speedup"})
    table.columns.push_back(left(key, compared));

  for (std::size_t r = 0; r < result.runs.size(); ++r) {
    const RunResult& one = result.runs[r];
    const Run run = run_of(scenario, r);
    std::vector<Cell> cells;
    for (std::size_t a = 0; a < scenario.axes.size(); ++a) cells.emplace_back(run.choices[a]->name);
    cells.emplace_back(run.point);
    cells.push_back(run.variant ? Cell(scenario.variants[*run.variant].name) : Cell());
    cells.emplace_back(parameters(scenario, run));
    cells.push_back(one.ended_well() ? Cell(number(microseconds(one.time))) : Cell());
    cells.push_back(one.ended_well() ? Cell(metrics(one)) : Cell());
    cells.push_back(one.ended_well() ? Cell(one.notes) : Cell());
    cells.push_back(one.ended_well() ? simulated(one) : Cell());
    for (const std::string& name : names) cells.emplace_back(value_of(one.metrics, name));
    cells.push_back(one.ended_well() ? Cell() : Cell(one.reason));
    if (compared != 0 && result.comparison[r]) {
      cells.emplace_back(result.comparison[r]->reduction_percent);
      cells.emplace_back(result.comparison[r]->speedup);
    }
    table.row(std::move(cells));
  }
  return table;
}

// Adds the notes of the runs, such as decisions of operators. Each note appears once, with the label of the first run
// that has it.
void add_notes(const Scenario& scenario, const StudyResult& result, report::Document& document) {
  constexpr std::size_t most = 12;
  std::vector<std::string> known;
  report::List list;
  list.mark = report::Mark::note;
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    const std::string label = result.runs.size() > 1 ? run_of(scenario, number).label() + ": " : "";
    for (const std::string& note : result.runs[number].notes) {
      if (std::find(known.begin(), known.end(), note) != known.end()) continue;
      known.push_back(note);
      if (known.size() <= most) list.items.push_back(label + note);
    }
  }
  if (known.size() > most) list.items.push_back(fmt::format("and {} more, in JSON", known.size() - most));
  if (!known.empty()) document.add(std::move(list), in::people);
}

// Adds the list of runs that did not end well, with reasons.
void add_failures(const Scenario& scenario, const StudyResult& result, report::Document& document) {
  constexpr std::size_t most = 12;
  report::List list;
  list.mark = report::Mark::beyond;
  std::size_t failed = 0;
  for (std::size_t r = 0; r < result.runs.size(); ++r) {
    if (result.runs[r].ended_well() || ++failed > most) continue;
    list.items.push_back(fmt::format("{}: {}", run_of(scenario, r).label(), result.runs[r].reason));
  }
  if (failed == 0) return;
  if (failed > most) list.items.push_back(fmt::format("and {} more, in JSON and CSV", failed - most));
  document.add(report::Note{fmt::format("{} of {} runs failed{}:", failed, result.runs.size(),
                                        result.summary.empty() ? "" : ", and mean and max leave them out"),
                            report::Mark::beyond},
               in::people);
  document.add(std::move(list), in::people);
}

std::optional<report::Number> number(const std::optional<double>& value) {
  return value ? std::optional(number(*value)) : std::nullopt;
}

report::Table comparison_table(const Scenario& scenario, const StudyResult& result) {
  report::Table table{.key = "comparison",
                      .columns = {left("point", scenario.axes.empty() ? 0 : in::json), left("variant"),
                                  right("time_us"), right("reduction_percent"), right("speedup"),
                                  right("fraction_of_ideal"), right("overlap_efficiency")}};
  for (const std::optional<ComparisonRow>& row : result.comparison)
    if (row)
      table.row({row->point, scenario.variants[row->variant].name, number(row->time_us), number(row->reduction_percent),
                 number(row->speedup), number(row->fraction_of_ideal), number(row->overlap_efficiency)});
  return table;
}

report::Table summary_table(const Scenario& scenario, const StudyResult& result) {
  report::Table table{.key = "summary",
                      .columns = {left("summary"), left("variant"), right("reduction_percent"), right("speedup"),
                                  right("fraction_of_ideal"), right("overlap_efficiency")}};
  for (const SummaryRow& row : result.summary)
    table.row({to_string(row.kind), scenario.variants[row.variant].name, number(row.reduction_percent),
               number(row.speedup), number(row.fraction_of_ideal), number(row.overlap_efficiency)});
  return table;
}

}  // namespace

report::Document document_of(const Scenario& scenario, const StudyResult& result) {
  report::Document document;
  document.title = scenario.description;
  document.add(Field{"scenario", scenario.name});
  document.add(Field{"description", scenario.description});
  if (!scenario.axes.empty()) document.add(Field{"points", points(scenario)});
  document.add(runs_table(scenario, result), in::programs);
  if (scenario.compare_to) {
    document.add(Field{"compared_to", scenario.variants[*scenario.compare_to].name});
    document.add(comparison_table(scenario, result), in::json);
  }
  if (!result.summary.empty()) document.add(summary_table(scenario, result), in::json);
  document.add(results_table(scenario, result), in::people);
  add_failures(scenario, result, document);
  if (!result.notes.empty()) {
    document.add(Field{"notes", Cell(result.notes)}, in::json);
    document.add(report::List{result.notes, report::Mark::note}, in::people);
  }
  add_notes(scenario, result, document);
  add_blame(scenario, result, document);
  add_recorded(scenario, result, document);
  return document;
}

}  // namespace moire::study
