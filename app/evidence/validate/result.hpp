// The result of a validation: cases with their errors, statistics and limits.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/evidence/validate/statistics.hpp"
#include "app/report/plot.hpp"
#include "app/study/metrics.hpp"

namespace moire::validate {

// A measured number and the simulated one, both in `unit`.
struct Case {
  std::string name;   // unique within a group, together with the metric
  std::string curve;  // cases with the same curve are summarised together; may be empty
  std::string metric;
  std::string unit;
  std::optional<double> measured, low, high;  // absent for a prediction
  std::optional<double> expected;             // predicted before the measurement
  double simulated = 0;
  bool in_points = false;                                     // the error is simulated - measured instead of a ratio
  std::vector<std::pair<std::string, std::string>> named_by;  // columns and values that form the name
  std::optional<double> reference;                            // measured value of an alternative, for speed-ups

  // Returns the error in percent of the measured value, or in points. If the measured value is 0, the error of any
  // other value is 100 %.
  std::optional<double> error() const;
  std::optional<double> expected_error() const;  // error of the expected value
};

// A limit and the value that it applies to, both in the unit of the group's errors or of the metric `on`.
struct Limit {
  std::string on;  // "case", "mean", "median", "percentile_95", or the name of a metric
  double most = 0;
  double value = 0;
  std::string at;                                     // the case or curve that it applies to, if it is for one
  bool held() const { return value <= most + 1e-9; }  // tolerates rounding of a sum
};

struct Curve {
  std::string name;
  Summary summary;
  std::string worst_case;
};

// A file of measured values and the lines in it that describe it, or only the stated source of a value.
struct Origin {
  std::string file;
  std::vector<std::pair<std::string, std::string>> about;
};

struct GroupResult {
  std::string name;
  std::string kind;   // "scenario", "difference", "effect", "speedup", "measurements", "trace"
  std::string about;  // what is compared, in one line
  std::string error_unit = "%";
  std::vector<Case> cases;
  std::vector<std::string> left_out;   // rows without a measured value, cases without a counterpart
  std::vector<study::Metric> metrics;  // further metrics, which limits may use
  std::vector<Limit> limits;
  std::vector<Origin> origins;
  std::vector<report::Figure> figures;  // further figures

  Summary summary;
  Summary expected_summary;  // of expected against measured values
  std::string worst_case;
  std::vector<Curve> curves;

  void summarise();  // computes the four members above from the cases
};

// False for differences, effects and speed-ups, whose errors follow from those of other groups.
inline bool has_own_errors(const GroupResult& group) {
  return group.kind != "difference" && group.kind != "effect" && group.kind != "speedup";
}

struct ValidationResult {
  std::vector<GroupResult> groups;  // groups of the file, differences, speed-ups, effects
  Summary overall;                  // over all cases of scenarios and measurements
  std::size_t unused_expected = 0;  // rows of the expected table without a case
  std::string deadlock;             // the report; if it is not empty, the rest is invalid

  bool passed() const;
};

}  // namespace moire::validate
