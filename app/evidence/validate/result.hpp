// What a validation found: cases, their errors, what they come to, and the limits beside it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/evidence/validate/statistics.hpp"
#include "app/report/plot.hpp"
#include "app/study/metrics.hpp"

namespace moire::validate {

// One measured number beside the simulated one, both in `unit`.
struct Case {
  std::string name;   // no two of a group have one name and metric
  std::string curve;  // cases that are summarised together; empty: none
  std::string metric;
  std::string unit;
  std::optional<double> measured, low, high;  // no measured value: a prediction
  std::optional<double> expected;             // what was predicted before it was measured
  double simulated = 0;
  bool in_points = false;                                     // the error is simulated - measured, not their ratio
  std::vector<std::pair<std::string, std::string>> named_by;  // columns and values that make up the name
  std::optional<double> reference;                            // measured of something else, in the same row

  // Percent of the measured value, or points. Of a measured 0 all else is 100 % off.
  std::optional<double> error() const;
  std::optional<double> expected_error() const;  // the same of the expected value
};

// A limit and what stands against it, both in the unit of the group's errors, or of its metric.
struct Limit {
  std::string on;  // "case", "mean", "median", "percentile_95", or the name of a metric
  double most = 0;
  double value = 0;
  std::string at;                                     // the case or the curve it is about, where it is about one
  bool held() const { return value <= most + 1e-9; }  // the last bits of a sum break no limit
};

struct Curve {
  std::string name;
  Summary summary;
  std::string worst_case;
};

// A file that the numbers come from, and what it says of itself.
struct Origin {
  std::string file;
  std::vector<std::pair<std::string, std::string>> about;
};

struct GroupResult {
  std::string name;
  std::string kind;   // "scenario", "difference", "effect", "speedup", "measurements", "trace"
  std::string about;  // one line for people: what is compared
  std::string error_unit = "%";
  std::vector<Case> cases;
  std::vector<std::string> left_out;   // rows without a measured value, cases without a counterpart
  std::vector<study::Metric> metrics;  // further figures, which limits may stand on
  std::vector<Limit> limits;
  std::vector<Origin> origins;
  std::vector<report::Figure> figures;  // further ones

  Summary summary;
  Summary expected_summary;  // of expected against measured
  std::string worst_case;
  std::vector<Curve> curves;

  void summarise();  // fills in the four above from the cases
};

// Its errors are those of simulated values; differences, effects and speed-ups follow from other groups.
inline bool has_own_errors(const GroupResult& group) {
  return group.kind != "difference" && group.kind != "effect" && group.kind != "speedup";
}

struct ValidationResult {
  std::vector<GroupResult> groups;  // the groups of the file, then its differences
  Summary overall;                  // over the cases of all groups whose errors are in percent, traces left out
  std::size_t unused_expected = 0;  // rows of the expected table that no case has
  std::string deadlock;             // the report; where it is not empty the rest is of no use

  bool passed() const;
};

}  // namespace moire::validate
