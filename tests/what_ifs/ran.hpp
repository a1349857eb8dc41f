// Runs a scenario of one operation on a shipped machine, with changes by --set, as `moire run` does.
#pragma once

#include <string>
#include <vector>

#include "app/study/notes.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::study {

struct Ran {
  StudyResult result;
  std::string errors;

  double metric(std::size_t run, std::string_view name) const {
    return value_of(result.runs.at(run).metrics, name).value_or(-1);
  }
  double time_us(std::size_t run = 0) const { return metric(run, "time_us"); }
};

using Sets = std::vector<std::string>;

inline Ran run(const std::string& file, std::optional<config::Node> tree, std::vector<config::Override> overrides,
               config::Diagnostics& diagnostics) {
  Ran ran;
  Preparer preparer;
  if (const auto study =
          prepare_runs(scenario_of(file, std::move(*tree), std::move(overrides), diagnostics), preparer, diagnostics))
    ran.result = run_study(*study, {});
  ran.errors = diagnostics.str();
  return ran;
}

inline Ran run(const std::string& system, const std::string& operation, const std::string& changes = "",
               const Sets& sets = {}) {
  const std::string text = "description: x\nsystem: " + support::source_dir() + "/configs/systems/" + system +
                           "\nprogram: {queues: {main: [{" + operation + "}]}}\n" + changes;
  config::Diagnostics diagnostics;
  auto overrides = config::parse_sets(sets, diagnostics);
  return run("s.yaml", config::load_text("s.yaml", text, {}, diagnostics), std::move(overrides), diagnostics);
}

inline Ran run_shipped(const std::string& scenario, const Sets& sets) {
  config::Diagnostics diagnostics;
  auto overrides = config::parse_sets(sets, diagnostics);
  auto tree = config::load(support::source_dir() + "/configs/scenarios/" + scenario, overrides, diagnostics);
  return run(scenario, std::move(tree), std::move(overrides), diagnostics);
}

}  // namespace moire::study
