// Compares variants with their reference variant.
#include <algorithm>
#include <cmath>

#include "app/study/study.hpp"

namespace moire::study {

namespace {

SummaryRow summarise(SummaryKind kind, std::size_t variant, const std::vector<std::optional<ComparisonRow>>& rows) {
  SummaryRow summary{kind, variant, 0, 0, std::nullopt};
  double points = 0;
  double fractions = 0;
  double log_speedup = 0;
  for (const std::optional<ComparisonRow>& known : rows) {
    if (!known || known->variant != variant) continue;
    const ComparisonRow& row = *known;
    if (kind == SummaryKind::max) {
      summary.reduction_percent =
          points == 0 ? row.reduction_percent : std::max(summary.reduction_percent, row.reduction_percent);
      summary.speedup = std::max(summary.speedup, row.speedup);
    } else {
      summary.reduction_percent += row.reduction_percent;
      log_speedup += std::log(row.speedup);
    }
    if (row.fraction_of_ideal) {
      const double so_far = summary.fraction_of_ideal.value_or(kind == SummaryKind::max ? *row.fraction_of_ideal : 0);
      summary.fraction_of_ideal =
          kind == SummaryKind::max ? std::max(so_far, *row.fraction_of_ideal) : so_far + *row.fraction_of_ideal;
      ++fractions;
    }
    ++points;
  }
  if (kind == SummaryKind::mean) {
    summary.reduction_percent /= points;
    summary.speedup = std::exp(log_speedup / points);
    if (summary.fraction_of_ideal) *summary.fraction_of_ideal /= fractions;
  }
  return summary;
}

}  // namespace

std::string_view to_string(SummaryKind kind) { return kind == SummaryKind::mean ? "mean" : "max"; }

void compare(const Scenario& scenario, StudyResult& result) {
  if (!scenario.compare_to || result.ended_well() == 0) return;
  const std::size_t variants = scenario.variants.size();
  for (std::size_t number = 0; number < result.runs.size(); ++number) {
    const std::size_t point = number / variants;
    const std::size_t variant = number % variants;
    const RunResult& other = result.runs[point * variants + *scenario.compare_to];
    if (!result.runs[number].ended_well() || !other.ended_well()) {
      result.comparison.emplace_back();
      continue;
    }
    const auto time = static_cast<double>(result.runs[number].time.ps);
    const auto base = static_cast<double>(other.time.ps);
    const double reduction = std::round((1 - time / base) * 1e8) / 1e6;  // rounded to a millionth of a percent
    result.comparison.push_back(ComparisonRow{point, variant, time / 1e6, reduction, base / time,
                                              value_of(result.runs[number].metrics, "fraction_of_ideal")});
  }
  for (const SummaryKind kind : scenario.summary) {
    for (std::size_t variant = 0; variant < variants; ++variant) {
      const bool any = std::any_of(result.comparison.begin(), result.comparison.end(),
                                   [variant](const auto& row) { return row && row->variant == variant; });
      if (any && variant != *scenario.compare_to) result.summary.push_back(summarise(kind, variant, result.comparison));
    }
  }
}

}  // namespace moire::study
