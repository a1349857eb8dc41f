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

// A measured number and its simulated value. All numbers are in `unit`.
struct Case {
  std::string name;   // unique within a group, together with the metric
  std::string curve;  // cases with the same curve are summarised together; empty if the case is on no curve
  std::string metric;
  std::string unit;
  std::optional<double> measured, low, high;  // absent for a prediction; `low` and `high` are extreme repetitions
  std::optional<double> expected;             // predicted before the measurement
  double simulated = 0;
  bool in_points = false;                                     // the error is simulated - measured, in percentage points
  std::vector<std::pair<std::string, std::string>> named_by;  // columns and values that form the name
  std::optional<double> reference;                            // measured value of an alternative, for speed-ups
  std::vector<std::optional<double>> again;                   // value of each other machine that measured the group

  // Returns the error of `simulated` in percent of the measured value, or in percentage points if `in_points` is true.
  // If the measured value is 0, the error in percent of any other value is 100. Returns nothing without a measured
  // value.
  std::optional<double> error() const;
  std::optional<double> expected_error() const;  // returns the error of `expected`, computed like error()
};

// A limit `most`, and the `value` that must not exceed it. Both have the unit of the group's errors or of the metric
// `on`.
struct Limit {
  std::string on;  // "case", "mean", "median", "percentile_95", or the name of a metric
  double most = 0;
  double value = 0;
  std::string at;                                     // the case or curve with this value; empty for other limits
  bool held() const { return value <= most + 1e-9; }  // tolerates rounding of a sum
};

struct Curve {
  std::string name;
  Summary summary;
  std::string worst_case;
};

// A file of measured values and its header lines (`about`). If a value is written in the validation file itself, `file`
// is empty and `about` has the stated source.
struct Origin {
  std::string file;
  std::vector<std::pair<std::string, std::string>> about;
};

struct GroupResult {
  std::string name;
  std::string kind;   // "scenario", "difference", "effect", "speedup", "measurements", "trace"
  std::string about;  // a line that says what is compared
  std::string error_unit = "%";
  std::vector<Case> cases;
  std::vector<std::string> left_out;   // names of cases that have no measured value, or none to compare with
  std::vector<study::Metric> metrics;  // metrics of the whole group; limits may apply to them
  std::vector<Limit> limits;
  std::vector<Origin> origins;
  std::vector<report::Figure> figures;  // figures in addition to the plots that each group has

  Summary summary;
  Summary expected_summary;  // statistics of the errors of expected values
  std::string worst_case;
  std::vector<Curve> curves;

  void summarise();  // computes the four members above from the cases; does nothing for a trace
};

// Returns false for differences, effects and speed-ups, because their errors follow from the errors of other groups.
inline bool has_own_errors(const GroupResult& group) {
  return group.kind != "difference" && group.kind != "effect" && group.kind != "speedup";
}

struct ValidationResult {
  std::vector<GroupResult> groups;  // groups of the file, differences, speed-ups, effects
  Summary overall;                  // errors of all cases of scenarios and measurements
  std::size_t unused_expected = 0;  // number of rows of the table of predictions that have no case
  std::string deadlock;             // report of a deadlock; if it is not empty, all other members are invalid

  bool passed() const;
};

}  // namespace moire::validate
