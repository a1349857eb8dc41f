// From one run of a scenario to what a replay needs: changes applied, parsed, checked.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/study/scenario.hpp"
#include "models/workload/libraries/software.hpp"
#include "sim/program/program.hpp"

namespace moire::study {

struct PreparedRun {
  libraries::EquippedSystem system;
  std::unique_ptr<program::Program> program;
};

// Nothing, and the reasons in `diagnostics`, where the run cannot be simulated.
std::optional<PreparedRun> prepare(const Scenario& scenario, const Run& run, config::Diagnostics& diagnostics);

// The same for a run that check_runs() has passed.
PreparedRun prepare_checked(const Scenario& scenario, const Run& run);

// Prepares every run. An error that only some of them have says which.
void check_runs(const Scenario& scenario, config::Diagnostics& diagnostics);

// Reports what keeps a system from being built, at `node`.
void check_system(const machine::SystemSpec& system, const config::Node& node, config::Diagnostics& diagnostics);

// What the run changes, path to value, in the order of the changes: axes, variant, --set. The last change of a path
// counts.
std::vector<std::pair<std::string, config::Node>> parameters_of(const Scenario& scenario, const Run& run);

}  // namespace moire::study
