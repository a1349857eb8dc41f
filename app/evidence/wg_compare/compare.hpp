// A simulated kernel beside its measured trace, workgroup by workgroup. What the figures mean:
// docs/explanation/wg-comparison.md.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/wg_compare/record.hpp"
#include "app/report/plot.hpp"
#include "app/study/metrics.hpp"
#include "sim/config/problem.hpp"

namespace moire::wg_compare {

// A value of both sides; the name is snake_case with its unit.
struct Pair {
  std::string name;
  std::string_view unit;
  double measured = 0;
  double simulated = 0;
};

struct Comparison {
  // Why the two cannot be compared: "what is wrong; what would be right". All else is empty then.
  std::vector<config::Problem> mismatches;
  std::vector<study::Metric> metrics;  // how far they are apart, see metric_infos()
  std::vector<Pair> pairs;
  std::vector<report::Figure> figures;  // see figures()
};

// All metrics of a comparison, in their order.
const std::vector<study::MetricInfo>& metric_infos();

// Both have at least one task, and take time.
Comparison compare(const Record& measured, const Record& simulated);

}  // namespace moire::wg_compare
