// Finds the numbers of a system through the descriptions of its specs, and knows for each number whether a larger or a
// smaller value makes the machine better. The test fails for a number that is not in the table of parameters.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"

namespace moire::laws {

// Whether a larger or a smaller value of a number must never make a run slower. neither: no such value is known.
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

  std::string text(double value) const;  // returns `value` as YAML, with a unit
};

bool is_rate(const Parameter& one);

// Returns all numbers that a spec with this description has in `tree`, written or by default. `path` is the
// path of the spec in --set.
std::vector<Parameter> parameters_of(const config::Node& tree, const config::Description& spec,
                                     const std::string& path);

// An entry of the table in parameters.cpp: which values of a number of a hardware component are better.
struct Direction {
  const char* name;
  Better better;
  const char* why = "";  // reason, for `neither`
};
const Direction* direction_of(const std::string& name);

// Returns the errors of the table: numbers of specs that it lacks, and entries that no spec has.
std::vector<std::string> undeclared();

// Returns the changes that make `one` better by `factor`, including changes that necessarily come with it in hardware:
// more CUs have more arithmetic. Returns nothing if the number cannot get better.
std::optional<std::vector<Change>> made_better(const std::vector<Parameter>& all, const Parameter& one, double factor);

}  // namespace moire::laws
