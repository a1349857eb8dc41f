// Makes the table of the time that each queue lost to each cause while it ran beside other queues.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/study/blame.hpp"
#include "app/study/report.hpp"

namespace moire::study {

namespace {

constexpr double least_us = 0.005;  // smaller times would be shown as 0.00

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

void add_blame(const Scenario& scenario, const StudyResult& result, report::Document& document) {
  if (scenario.points() > 1) return;
  static const std::string whole = "this run";
  std::vector<Row> rows;
  for (std::size_t v = 0; v < result.runs.size(); ++v) {
    const std::string& name = scenario.variants.empty() ? whole : scenario.variants[v].name;
    for (const QueueResult& queue : result.runs[v].queues) {
      if (Row row{name, queue.name, result.runs[v]}; row.value("lost_us")) rows.push_back(row);
    }
  }
  if (rows.empty()) return;
  std::vector<std::string> parts = {"schedule"};
  for (const LostPart& lost : lost_parts()) parts.emplace_back(lost.name);
  const auto lost_to = [](const Row& row, const std::string& part) {
    return row.value("lost_" + part + "_us").value_or(0);
  };
  // Leaves out causes by which no queue lost time.
  std::erase_if(parts, [&](const std::string& part) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return std::abs(lost_to(row, part)) < least_us; });
  });
  report::Table table{.columns = {report::left("lost in us"), report::left("queue"), report::right("isolated"),
                                  report::right("together"), report::right("lost")}};
  for (const std::string& part : parts) table.columns.push_back(report::right(heading_of(part)));
  const std::string* last = nullptr;
  for (const Row& row : rows) {
    std::vector<report::Cell> cells = {last == &row.run ? "" : row.run, row.queue};
    for (const char* metric : {"isolated_us", "us", "lost_us"}) cells.emplace_back(row.value(metric).value_or(0));
    for (const std::string& part : parts) {
      const double lost = lost_to(row, part);
      cells.push_back(std::abs(lost) < least_us ? report::Cell() : report::Cell(lost));
    }
    table.row(std::move(cells));
    last = &row.run;
  }
  report::Section section;
  section.heading = "How much time each queue lost, and to what";
  section.add(std::move(table));
  document.add(std::move(section), report::in::people);
}

}  // namespace moire::study
