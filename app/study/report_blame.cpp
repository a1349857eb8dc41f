// What each queue lost beside the others, and to what.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/report/table.hpp"
#include "app/study/blame.hpp"
#include "app/study/report.hpp"

namespace moire::study {

namespace {

struct Row {
  const std::string& run;
  const std::string& queue;
  const RunResult& result;

  std::optional<double> value(std::string_view metric) const {
    return value_of(result.metrics, fmt::format("<queue>_{}", metric), metric_word(queue));
  }
};

std::string heading_of(std::string_view part) {
  std::string heading(part);
  std::replace(heading.begin(), heading.end(), '_', ' ');
  return heading;
}

}  // namespace

std::string report_blame(const Scenario& scenario, const StudyResult& result) {
  if (scenario.points() > 1) return "";
  static const std::string whole = "this run";
  std::vector<Row> rows;
  for (std::size_t v = 0; v < result.runs.size(); ++v) {
    const std::string& name = scenario.variants.empty() ? whole : scenario.variants[v].name;
    for (const QueueResult& queue : result.runs[v].queues) {
      if (Row row{name, queue.name, result.runs[v]}; row.value("lost_us")) rows.push_back(row);
    }
  }
  if (rows.empty()) return "";
  std::vector<std::string> parts = {"schedule"};
  for (const LostPart& lost : lost_parts()) parts.emplace_back(lost.name);
  // Only what somebody lost something to.
  std::erase_if(parts, [&](const std::string& part) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return std::abs(row.value("lost_" + part + "_us").value_or(0)) < 0.005; });
  });
  report::Table table;
  table.column("lost in us", report::Table::Align::left);
  table.column("queue", report::Table::Align::left);
  for (const char* heading : {"isolated", "together", "lost"}) table.column(heading, report::Table::Align::right);
  for (const std::string& part : parts) table.column(heading_of(part), report::Table::Align::right);
  const std::string* last = nullptr;
  for (const Row& row : rows) {
    std::vector<std::string> cells = {last == &row.run ? "" : row.run, row.queue};
    for (const char* metric : {"isolated_us", "us", "lost_us"}) {
      cells.push_back(fmt::format("{:.2f}", row.value(metric).value_or(0)));
    }
    for (const std::string& part : parts) {
      const double lost = row.value("lost_" + part + "_us").value_or(0);
      cells.push_back(std::abs(lost) < 0.005 ? "" : fmt::format("{:.2f}", lost));
    }
    table.row(std::move(cells));
    last = &row.run;
  }
  return "\nWhat each queue lost beside the others, and to what\n\n" + table.str();
}

}  // namespace moire::study
