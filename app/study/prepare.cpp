#include "app/study/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/hardware/machine/machine.hpp"
#include "models/hardware/machine/parts.hpp"
#include "models/workload/operators/registry.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/log.hpp"

namespace moire::study {

namespace {

bool varies_runs(const config::Override& set) { return set.path.front() == "system" || set.path.front() == "program"; }

bool apply_changes(const Scenario& scenario, const Run& run, config::Node& tree, config::Diagnostics& diagnostics) {
  bool good = true;
  for (const Choice* choice : run.choices) {
    for (const config::Override& change : choice->changes) good = apply_change(change, tree, diagnostics) && good;
  }
  // Once more, since a variant may have replaced what they changed when the file was loaded.
  for (const config::Override& set : scenario.sets) {
    if (varies_runs(set)) good = apply_change(set, tree, diagnostics) && good;
  }
  return good;
}

// A slip in a size must not run for days.
std::optional<config::Problem> too_long(const program::Program& program) {
  constexpr double most = 1e9;  // workgroups; some minutes to an hour
  double workgroups = 0;
  for (const program::Queue& queue : program.queues) {
    for (const program::Operation& operation : queue.operations) {
      const auto* kernel = std::get_if<program::Kernel>(&operation);
      if (kernel) workgroups += static_cast<double>(kernel->body->workgroups(0)) * program.ranks();
    }
  }
  if (workgroups <= most) return std::nullopt;
  return config::Problem{
      fmt::format("the program has {:.1e} workgroups, at most {:.0e} are simulated", workgroups, most),
      "make its sizes smaller"};
}

}  // namespace

void check_system(const machine::SystemSpec& system, const config::Node& node, config::Diagnostics& diagnostics) {
  // SimGrid allows one engine per process, and building it says nothing more about the parts.
  machine::SystemSpec without_engine = system;
  without_engine.network.model = machine::NetworkModel::queue;
  core::RunLoop loop;
  config::Problem error;
  if (!machine::Machine::build(without_engine, loop, error)) diagnostics.error(node.place, error);
}

std::optional<PreparedRun> prepare(const Scenario& scenario, const Run& run, config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  config::Node tree = scenario.tree;
  if (core::logs(core::LogLevel::info)) core::log_info("run {}", run.label().empty() ? scenario.name : run.label());
  if (!apply_changes(scenario, run, tree, diagnostics)) return std::nullopt;
  const config::Node* system_node = tree.find("system");
  const config::Node* program_node = tree.find("program");
  if (!system_node || !program_node) return std::nullopt;  // told when the scenario was loaded
  auto system = config::parse<machine::SystemSpec>(*system_node, diagnostics, nullptr, "system");
  if (!system) return std::nullopt;
  check_system(*system, *system_node, diagnostics);
  auto program = operators::build_program(*program_node, *system, diagnostics);
  if (!program || diagnostics.size() > before) return std::nullopt;
  auto problem = machine::does_not_fit(*program, *system);
  if (!problem) problem = too_long(*program);
  if (problem) {
    diagnostics.error(program_node->place, *problem);
    return std::nullopt;
  }
  if (scenario.ideal == Ideal::overlap && run.variant == scenario.compare_to && program->queues.size() < 2) {
    diagnostics.error(scenario.ideal_place, "an ideal overlap of one queue",
                      "'ideal: overlap' needs a program of two queues or more");
    return std::nullopt;
  }
  return PreparedRun{std::move(*system), std::move(program)};
}

PreparedRun prepare_checked(const Scenario& scenario, const Run& run) {
  config::Diagnostics diagnostics;
  auto prepared = prepare(scenario, run, diagnostics);
  MOIRE_INVARIANT(prepared.has_value(), "a checked run was refused: " + diagnostics.str());
  return std::move(*prepared);
}

void check_runs(const Scenario& scenario, config::Diagnostics& diagnostics) {
  struct Seen {
    config::Diagnostic error;
    std::size_t runs = 0;
    std::size_t first = 0;
  };
  std::map<std::string, Seen> seen;
  std::vector<std::string> order;
  const std::size_t runs = scenario.runs();
  for (std::size_t number = 0; number < runs; ++number) {
    config::Diagnostics own;
    prepare(scenario, run_of(scenario, number), own);
    for (const config::Diagnostic& error : own.sorted()) {
      const auto [it, fresh] = seen.try_emplace(error.str(), Seen{error, 0, number});
      if (fresh) order.push_back(error.str());
      ++it->second.runs;
    }
  }
  for (const std::string& text : order) {
    const Seen& one = seen.at(text);
    std::string what = one.error.what;
    if (one.runs < runs) {
      const std::string label = config::in_quotes(run_of(scenario, one.first).label());
      what += one.runs == 1 ? fmt::format(" (in run {})", label)
                            : fmt::format(" (in {} of {} runs, first {})", one.runs, runs, label);
    }
    diagnostics.error(one.error.place, what, one.error.remedy);
  }
}

std::vector<std::pair<std::string, config::Node>> parameters_of(const Scenario& scenario, const Run& run) {
  std::vector<std::pair<std::string, config::Node>> parameters;
  const auto add = [&parameters](const config::Override& change) {
    const std::string path = config::join(change.path, ".");
    const auto known =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.first == path; });
    if (known != parameters.end()) {
      known->second = change.value;
    } else {
      parameters.emplace_back(path, change.value);
    }
  };
  for (const Choice* choice : run.choices) {
    for (const config::Override& change : choice->changes) add(change);
  }
  for (const config::Override& set : scenario.sets) {
    if (varies_runs(set)) add(set);
  }
  return parameters;
}

}  // namespace moire::study
