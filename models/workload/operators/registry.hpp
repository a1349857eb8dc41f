// The operators a scenario may name: one line each in registry.cpp. Nothing else in Moire knows an operator by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "sim/config/config.hpp"

namespace moire::operators {

// A key of an operator that changes how its work is done, not what it does: what a search for a schedule may try.
struct Knob {
  std::string key;
  std::vector<std::string> values;
  std::string usual;                 // what holds where the key is absent; "" where that depends
  std::string only_key, only_value;  // it means something only with this value of another key
};

struct Operator {
  std::string name;  // key in the scenario
  // Parses the operator's mapping and appends its operations; false after reporting what is wrong with it.
  std::function<bool(const config::Node&, builder::Builder&, config::Diagnostics&)> append;
  std::vector<Knob> knobs{};
};

const std::vector<Operator>& all();

// Specs of all operators, hardware parts and systems, for explain and the reference pages.
void describe(config::Catalogue& catalogue);

struct BuiltProgram {
  std::unique_ptr<program::Program> program;  // null after reporting what is wrong
  std::vector<builder::RecordedKernel> recorded;
};

// Turns a scenario's `program:` mapping into a program for a system:
//   program: {queues: {main: [{<operator>: {...}}, ...], other: {priority: high, operations: [...]}},
//             order: concurrent, launch: [other, main]}
// `traces`: those that operators replay, parsed once for all programs that are built with them.
BuiltProgram build_program(const config::Node& node, const machine::SystemSpec& system, program::WgTraceFiles& traces,
                           config::Diagnostics& diagnostics);

}  // namespace moire::operators
