// What was recorded on hardware beside what was simulated, phase by phase: where a difference comes from.
#include <fmt/format.h>

#include <algorithm>

#include "app/study/report.hpp"

namespace moire::study {

namespace {

constexpr std::string_view prefix = "recorded_";

std::vector<Metric> recorded_in(const RunResult& run) {
  std::vector<Metric> recorded;
  for (const Metric& metric : run.metrics) {
    if (metric.name.starts_with(prefix)) recorded.push_back({metric.name.substr(prefix.size()), metric.value});
  }
  return recorded;
}

bool same(const std::vector<Metric>& a, const std::vector<Metric>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Metric& x, const Metric& y) { return x.name == y.name && x.value == y.value; });
}

std::string simulated_cell(const RunResult& run, const Metric& recorded) {
  const auto simulated = value_of(run.metrics, recorded.name);
  if (!simulated) return "";
  const std::string value = shown(report::Number{.value = *simulated});
  if (recorded.value == 0) return value;
  const double ratio = *simulated / recorded.value;
  const double difference = 100 * (ratio - 1);
  if (difference >= 1000) return fmt::format("{} ({:.0f} x)", value, ratio);
  return fmt::format("{} ({:+.1f} %)", value, difference);
}

// The kernel's name for its own time, "  gather, mean" or "  gather, a workgroup in all" for that of a phase.
std::string row_label(const std::string& name, std::string& kernel) {
  constexpr std::string_view whole = "_kernel_us", mean = "_mean_us", all = "_per_workgroup_us";
  if (name.ends_with(whole)) return kernel = name.substr(0, name.size() - whole.size());
  const bool is_mean = name.ends_with(mean);
  const std::size_t ending = is_mean ? mean.size() : all.size();
  std::string phase = name.substr(kernel.size() + 1, name.size() - kernel.size() - 1 - ending);
  std::replace(phase.begin(), phase.end(), '_', ' ');
  return "  " + phase + (is_mean ? ", mean" : ", a workgroup in all");
}

// Runs that replay the same recording, one column each.
report::Section block(const Scenario& scenario, const StudyResult& result, const std::vector<std::size_t>& runs) {
  report::Table table{.columns = {report::left("time in us"), report::right("recorded")}};
  for (const std::size_t number : runs) {
    const std::string label = run_of(scenario, number).label();
    table.columns.push_back(report::right(label.empty() ? "simulated" : label));
  }
  std::string kernel;
  for (const Metric& metric : recorded_in(result.runs[runs.front()])) {
    std::vector<report::Cell> cells = {row_label(metric.name, kernel), metric.value};
    for (const std::size_t number : runs) cells.emplace_back(simulated_cell(result.runs[number], metric));
    table.row(std::move(cells));
  }
  report::Section section;
  section.heading = "Recorded, and simulated with the difference";
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
