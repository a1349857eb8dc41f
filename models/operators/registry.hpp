// The operators a scenario may name: one line each in registry.cpp. Nothing else in Moire knows an operator by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/builder/builder.hpp"
#include "sim/config/config.hpp"

namespace moire::models::operators {

struct Operator {
  std::string name;  // key in the scenario
  // Parses the operator's mapping and appends its operations; false after reporting what is wrong with it.
  std::function<bool(const config::Node&, builder::Builder&, config::Diagnostics&)> append;
};

const std::vector<Operator>& all();

// Specs of all operators, hardware parts and systems, for explain and the reference pages.
void describe(config::Catalogue& catalogue);

// Turns a scenario's `program:` mapping into a program for a system:
//   program: {queues: {main: [{<operator>: {...}}, ...], other: {priority: high, operations: [...]}},
//             order: concurrent, launch: [other, main]}
// Null after reporting what is wrong.
std::unique_ptr<program::Program> build_program(const config::Node& node, const machine::SystemSpec& system,
                                                config::Diagnostics& diagnostics);

}  // namespace moire::models::operators
