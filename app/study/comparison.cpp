// Compares variants with their reference variant.
#include <algorithm>
#include <cmath>

#include "app/study/study.hpp"

namespace moire::study {

namespace {

// Computes the mean or the maximum of the added values; absent values do not count.
class Summed {
 public:
  explicit Summed(SummaryKind kind) : kind_(kind) {}
  void add(const std::optional<double>& value) {
    if (!value) return;
    sum_ = kind_ == SummaryKind::mean ? sum_ + *value : count_ == 0 ? *value : std::max(sum_, *value);
    ++count_;
  }
  std::optional<double> value() const {
    if (count_ == 0) return std::nullopt;
    return kind_ == SummaryKind::mean ? sum_ / count_ : sum_;
  }

 private:
  SummaryKind kind_;
  double sum_ = 0;
  double count_ = 0;
};

SummaryRow summarise(SummaryKind kind, std::size_t variant, const std::vector<std::optional<ComparisonRow>>& rows) {
  Summed reduction(kind), log_speedup(kind), fraction(kind), efficiency(kind);
  for (const std::optional<ComparisonRow>& row : rows) {
    if (!row || row->variant != variant) continue;
    reduction.add(row->reduction_percent);
    log_speedup.add(std::log(row->speedup));
    fraction.add(row->fraction_of_ideal);
    efficiency.add(row->overlap_efficiency);
  }
  return {kind, variant, *reduction.value(), std::exp(*log_speedup.value()), fraction.value(), efficiency.value()};
}

// Adds the effective communication time and the overlap efficiency E, as arXiv 2406.06858, section 5, defines them.
void add_overlap_efficiency(const Scenario& scenario, std::size_t number, StudyResult& result) {
  const std::size_t first = number / scenario.variants.size() * scenario.variants.size();
  const std::size_t alone = first + *scenario.compute_only;
  if (number == alone || !result.runs[number].ended_well() || !result.runs[alone].ended_well()) return;
  const auto effective = [&](std::size_t run) { return result.runs[run].time - result.runs[alone].time; };
  result.runs[number].metrics.push_back({"effective_communication_us", microseconds(effective(number))});
  const std::size_t base = first + *scenario.compare_to;
  if (number == base || !result.runs[base].ended_well() || effective(base) <= Time{}) return;
  const double ratio = static_cast<double>(effective(number).ps) / static_cast<double>(effective(base).ps);
  const double efficiency = std::round((1 - ratio) * 1e9) / 1e9;
  result.runs[number].metrics.push_back({"overlap_efficiency", efficiency});
  result.comparison[number]->overlap_efficiency = efficiency;
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
                                              value_of(result.runs[number].metrics, "fraction_of_ideal"),
                                              std::nullopt});
    if (scenario.compute_only) add_overlap_efficiency(scenario, number, result);
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
