// Reads the measured values of a scenario group: selects the rows of the table that are cases, and names each case.
#pragma once

#include "app/evidence/validate/scenario_group.hpp"

namespace moire::validate {

struct MeasuredCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> named_by;  // columns that `case` names, with the row's values
  std::optional<double> value, low, high, reference;          // in the metric's unit
  std::vector<std::optional<double>> again;                   // of each other machine; absent: not measured there
  std::vector<config::Override> changes;
};

struct MeasuredCases {
  std::vector<MeasuredCase> cases;
  std::vector<std::string> left_out;  // names of selected rows that have no measured value
  std::vector<Origin> origins;
};

// Returns the cases of a group. Returns nothing and reports errors if the table or its description is wrong. `node` is
// the group's node in the file, for positions of errors. With `predict`, the returned cases have no measured values.
std::optional<MeasuredCases> read_measured(const ScenarioGroupSpec& spec, const config::Node& node, bool predict,
                                           config::Diagnostics& diagnostics);

}  // namespace moire::validate
