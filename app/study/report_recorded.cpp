// Compares recorded and simulated times phase by phase, to show where a difference comes from.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/study/report.hpp"

namespace moire::study {

namespace {

std::vector<Metric> recorded_in(const RunResult& run) {
  std::vector<Metric> recorded;
  std::copy_if(run.metrics.begin(), run.metrics.end(), std::back_inserter(recorded),
               [](const Metric& metric) { return metric.recorded; });
  return recorded;
}

bool same(const std::vector<Metric>& a, const std::vector<Metric>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Metric& x, const Metric& y) { return x.name == y.name && x.value == y.value; });
}

std::string simulated_cell(const RunResult& run, const Metric& recorded) {
  const auto simulated = std::find_if(run.metrics.begin(), run.metrics.end(), [&recorded](const Metric& metric) {
    return !metric.recorded && metric.info == recorded.info && metric.subject == recorded.subject &&
           metric.phase == recorded.phase;
  });
  if (simulated == run.metrics.end()) return "";
  const std::string value = shown(report::Number{.value = simulated->value});
  if (recorded.value == 0) return value;
  const double ratio = simulated->value / recorded.value;
  const double difference = 100 * (ratio - 1);
  if (difference >= 1000) return fmt::format("{} ({:.0f} x)", value, ratio);
  return fmt::format("{} ({:+.1f} %)", value, difference);
}

// Returns the kernel's name, or for a phase "  gather, mean" or "  gather, total per workgroup".
std::string row_label(const Metric& metric) {
  if (metric.phase.empty()) return metric.subject;
  return fmt::format("  {}, {}", metric.phase,
                     metric.is("<operation>_<phase>_mean_us") ? "mean" : "total per workgroup");
}

// Returns a table for runs that replay the same recording. Each run is a column.
report::Section block(const Scenario& scenario, const StudyResult& result, const std::vector<std::size_t>& runs) {
  report::Table table{.columns = {report::left("time in us"), report::right("recorded")}};
  for (const std::size_t number : runs) {
    const std::string label = run_of(scenario, number).label();
    table.columns.push_back(report::right(label.empty() ? "simulated" : label));
  }
  for (const Metric& metric : recorded_in(result.runs[runs.front()])) {
    std::vector<report::Cell> cells = {row_label(metric), metric.value};
    for (const std::size_t number : runs) cells.emplace_back(simulated_cell(result.runs[number], metric));
    table.row(std::move(cells));
  }
  report::Section section;
  section.heading = "Recorded times, and the deviation of the simulated ones";
  section.add(std::move(table));
  return section;
}

}  // namespace

void add_recorded(const Scenario& scenario, const StudyResult& result, report::Document& document) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    const std::vector<Metric> recorded = recorded_in(result.runs[number]);
    if (recorded.empty()) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& known) {
      return same(recorded_in(result.runs[known.front()]), recorded);
    });
    if (group == groups.end()) {
      groups.push_back({number});
    } else {
      group->push_back(number);
    }
  }
  for (const auto& group : groups) document.add(block(scenario, result, group), report::in::people);
}

}  // namespace moire::study
