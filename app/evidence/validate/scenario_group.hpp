// A group whose cases run the same scenario with different changes. Measured values are in a table or in the validation
// file itself:
//
//   - name: fused
//     scenario: ../configs/scenarios/embedding_h200.yaml
//     measured: {file: ../validation/h200/operator.csv, value: fused_us, low: fused_low_us, unit: us}
//     rows: {gpus: 4}                           # the cases are the rows with these values
//     case: name                                # the column, or list of columns, that names a case
//     set: {program.queues.main.0.gemm.m: $m}   # $m is the row's value in column m
//     metric: time_us
//     limits: {case: 15 %, mean: 6 %}
#pragma once

#include "app/evidence/validate/group.hpp"
#include "app/evidence/validate/limits.hpp"

namespace moire::validate {

struct MeasuredSpec {
  std::optional<std::filesystem::path> file;
  std::string value;
  std::optional<std::string> low;
  std::optional<std::string> high;
  std::optional<std::string> reference;
  std::optional<std::string> unit;
  std::optional<std::string> source;
  std::vector<std::filesystem::path> again;
  static void describe(config::Describer<MeasuredSpec>& d);
};

struct ScenarioGroupSpec {
  std::string name;
  std::string like;
  config::Node scenario;
  MeasuredSpec measured;
  std::vector<std::pair<std::string, config::Node>> rows;
  config::Node case_columns;
  std::vector<std::pair<std::string, config::Node>> set;
  std::string metric = "time_us";
  LimitsSpec limits;
  static void describe(config::Describer<ScenarioGroupSpec>& d);
};

std::unique_ptr<Group> read_scenario_group(const config::Node& node, const std::string& path, const Loading& loading,
                                           config::Diagnostics& diagnostics);

}  // namespace moire::validate
