// The numbers of a system, found through the descriptions of its specs, and the direction in which each makes a machine
// better. The test fails for a parameter that is not in the table of parameters.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"

namespace moire::laws {

// The direction of a change that must never make a run slower.
enum class Better { more, less, neither };

struct Change {
  std::string path;  // as in --set
  std::string value;
};

struct Parameter {
  std::string path;  // from the scenario's root: system.node.gpu.hbm.bandwidth
  std::string name;  // component and key: hbm.bandwidth
  const config::Field* field = nullptr;
  double value = 0;  // in base units
  bool whole = false;
  config::Dimension dimension = config::Dimension::ratio;

  std::string text(double value) const;  // a value as YAML
};

bool is_rate(const Parameter& one);

// Returns all numbers that a spec with this description has in `tree`, written or by default. `path`: path of the spec.
std::vector<Parameter> parameters_of(const config::Node& tree, const config::Description& spec,
                                     const std::string& path);

// Entry of the table of parameters.cpp for a number of a hardware component.
struct Direction {
  const char* name;
  Better better;
  const char* why = "";  // reason, for `neither`
};
const Direction* direction_of(const std::string& name);

// Returns the errors of the table: numbers of specs that it lacks, and entries that no spec has.
std::vector<std::string> undeclared();

// Returns the changes that make `one` better by `factor`, including changes that necessarily come with it in hardware:
// more CUs have more arithmetic. Nothing if the number cannot get better.
std::optional<std::vector<Change>> made_better(const std::vector<Parameter>& all, const Parameter& one, double factor);

}  // namespace moire::laws
