// Compares a simulated kernel with its measured trace, workgroup by workgroup. docs/explanation/wg-comparison.md
// explains the metrics.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "app/report/plot.hpp"
#include "app/study/metrics.hpp"
#include "sim/config/problem.hpp"

namespace moire::wg_compare {

// One quantity of the measured and of the simulated kernel. Its name is in snake_case and includes the unit.
struct Pair {
  std::string name;
  std::string_view unit;
  double measured = 0;
  double simulated = 0;
};

struct Comparison {
  // Reasons why the two records cannot be compared. If there are any, the other members are empty.
  std::vector<config::Problem> mismatches;
  std::vector<study::Metric> metrics;  // the differences, one for each of metric_infos()
  std::vector<Pair> pairs;
  std::vector<report::Figure> figures;  // made by figures()
};

// Returns names and meanings of all metrics of a comparison, in order.
const std::vector<study::MetricInfo>& metric_infos();

// Returns the comparison of two records. Both must have at least one task and a makespan above 0.
Comparison compare(const Record& measured, const Record& simulated);

}  // namespace moire::wg_compare
