// The numbers of a system, found through the descriptions of its specs, and for each the direction in which a machine
// gets better. A parameter that the table of parameters.cpp does not know fails the test, so whoever adds one declares
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"

namespace moire::laws {

// What a run may never get slower by.
enum class Better { more, less, neither };

struct Change {
  std::string path;  // as --set has it
  std::string value;
};

struct Parameter {
  std::string path;  // from the scenario's root: system.node.gpu.hbm.bandwidth
  std::string name;  // of its component: hbm.bandwidth
  const config::Field* field = nullptr;
  double value = 0;  // in base units
  bool whole = false;
  config::Dimension dimension = config::Dimension::ratio;

  std::string text(double value) const;  // as YAML
};

bool is_rate(const Parameter& one);

// All numbers that are written in the tree at `path`, which a spec of that description reads, or that it has by
// default.
std::vector<Parameter> parameters_of(const config::Node& tree, const config::Description& spec,
                                     const std::string& path);

// Of a component's number, as hardware.
struct Direction {
  const char* name;
  Better better;
  const char* why = "";  // neither
};
const Direction* direction_of(const std::string& name);

// Numbers of systems that the table does not know, and entries of the table that no system has.
std::vector<std::string> undeclared();

// What belongs to a change for it to be one of hardware: more CUs bring their arithmetic along.
std::optional<std::vector<Change>> made_better(const std::vector<Parameter>& all, const Parameter& one, double factor);

}  // namespace moire::laws
