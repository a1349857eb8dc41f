// The operators that a scenario may name, one line each in registry.cpp. No other code knows an operator by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/workload/builder/operator.hpp"

namespace moire::operators {

const std::vector<builder::Operator>& all();
const builder::Operator* find(std::string_view name);  // null if there is none of this name

// Adds the specs of all operators, hardware parts and systems, for `moire explain` and the reference pages.
void describe(config::Catalogue& catalogue);

struct BuiltProgram {
  std::unique_ptr<program::Program> program;  // null after reporting errors
  std::vector<builder::RecordedKernel> recorded;
  std::vector<builder::Exchange> exchanges;
  std::vector<std::string> notes;  // what operators decided and why, for reports
};

// Turns a scenario's `program:` mapping into a program for a system. Such a mapping is:
//   program: {queues: {main: [{<operator>: {...}}, ...], other: {priority: high, operations: [...]}},
//             order: concurrent, launch: [other, main]}
// `traces` keeps parsed WG traces for all programs that are built with it. `untried` is passed to every operator as
// Builder::untried.
BuiltProgram build_program(const config::Node& node, const libraries::EquippedSystem& system,
                           program::WgTraceFiles& traces, config::Diagnostics& diagnostics,
                           builder::Untried* untried = nullptr);

}  // namespace moire::operators
