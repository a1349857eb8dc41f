// One line a run. Metrics that only some runs have (operations differ between variants) are empty in the others.
#include <fmt/format.h>

#include <algorithm>

#include "app/study/report.hpp"
#include "sim/config/suggest.hpp"

namespace moire::study {

namespace {

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::vector<std::string> metric_names(const StudyResult& result) {
  std::vector<std::string> names;
  for (const RunResult& run : result.runs) {
    for (const Metric& metric : run.metrics) {
      if (std::find(names.begin(), names.end(), metric.name) == names.end()) names.push_back(metric.name);
    }
  }
  return names;
}

}  // namespace

std::string report_csv(const Scenario& scenario, const StudyResult& result) {
  std::vector<std::string> cells;
  for (const Axis& axis : scenario.axes) cells.push_back(field(axis.name));
  if (!scenario.variants.empty()) cells.emplace_back("variant");
  const std::vector<std::string> names = metric_names(result);
  cells.insert(cells.end(), names.begin(), names.end());
  if (!result.comparison.empty()) {
    // A run that is held against an ideal has a speedup of its own.
    const bool taken = std::find(names.begin(), names.end(), "speedup") != names.end();
    cells.insert(cells.end(), {"reduction_percent", taken ? "comparison_speedup" : "speedup"});
  }
  std::string out = config::join(cells, ",") + "\n";

  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    cells.clear();
    for (const Choice* choice : run_of(scenario, number).choices) cells.push_back(field(choice->name));
    const auto& metrics = result.runs[number].metrics;
    for (const std::string& name : names) {
      const auto value = value_of(metrics, name);
      cells.push_back(value ? fmt::format("{}", *value) : "");
    }
    if (!result.comparison.empty()) {
      cells.push_back(fmt::format("{}", result.comparison[number].reduction_percent));
      cells.push_back(fmt::format("{}", result.comparison[number].speedup));
    }
    out += config::join(cells, ",") + "\n";
  }
  return out;
}

}  // namespace moire::study
