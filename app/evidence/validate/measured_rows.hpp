// Reads the measured values of a scenario group: selects rows of the table as cases, and names the cases.
#pragma once

#include "app/evidence/validate/scenario_group.hpp"

namespace moire::validate {

struct MeasuredCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> named_by;  // columns of `case` and their values
  std::optional<double> value, low, high, reference;          // in the metric's unit
  std::vector<config::Override> changes;
};

struct MeasuredCases {
  std::vector<MeasuredCase> cases;
  std::vector<std::string> left_out;  // selected rows that have no measured value
  std::vector<Origin> origins;
};

// `node` is the group's node in the file, for positions of errors. With `predict`, measured values may be missing.
std::optional<MeasuredCases> read_measured(const ScenarioGroupSpec& spec, const config::Node& node, bool predict,
                                           config::Diagnostics& diagnostics);

}  // namespace moire::validate
