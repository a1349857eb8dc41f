// What was recorded on hardware beside what was simulated, phase by phase: where a difference comes from.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/report/table.hpp"
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
  const auto known = std::find_if(run.metrics.begin(), run.metrics.end(), [&recorded](const Metric& metric) {
    return !metric.recorded && metric.info == recorded.info && metric.subject == recorded.subject &&
           metric.phase == recorded.phase;
  });
  if (known == run.metrics.end()) return "";
  std::string value = fmt::format("{:.2f}", known->value);
  if (recorded.value == 0) return value;
  const double difference = 100 * (known->value / recorded.value - 1);
  if (difference >= 1000) return fmt::format("{} ({:.0f} x)", value, known->value / recorded.value);
  return fmt::format("{} ({:+.1f} %)", value, difference);
}

// The kernel's name for its own time, "  gather, mean" or "  gather, a workgroup in all" for that of a phase.
std::string row_label(const Metric& metric) {
  if (metric.phase.empty()) return metric.subject;
  return fmt::format("  {}, {}", metric.phase,
                     metric.is("<operation>_<phase>_mean_us") ? "mean" : "a workgroup in all");
}

// Runs that replay the same recording, one column each.
std::string block(const Scenario& scenario, const StudyResult& result, const std::vector<std::size_t>& runs) {
  report::Table table;
  table.column("time in us", report::Table::Align::left);
  table.column("recorded", report::Table::Align::right);
  for (const std::size_t number : runs) {
    const std::string label = run_of(scenario, number).label();
    table.column(label.empty() ? "simulated" : label, report::Table::Align::right);
  }
  for (const Metric& metric : recorded_in(result.runs[runs.front()])) {
    std::vector<std::string> cells = {row_label(metric), fmt::format("{:.2f}", metric.value)};
    for (const std::size_t number : runs) cells.push_back(simulated_cell(result.runs[number], metric));
    table.row(std::move(cells));
  }
  return "\nRecorded, and simulated with the difference\n\n" + table.str();
}

}  // namespace

std::string report_recorded(const Scenario& scenario, const StudyResult& result) {
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
  std::string out;
  for (const auto& group : groups) out += block(scenario, result, group);
  return out;
}

}  // namespace moire::study
