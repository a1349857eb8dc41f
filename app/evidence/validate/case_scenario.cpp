#include "app/evidence/validate/case_scenario.hpp"

#include <fmt/format.h>

namespace moire::validate {

CaseStudy prepare_case(std::string name, std::shared_ptr<const config::Node> tree,
                       std::vector<config::Override> changes, study::Preparer& preparer,
                       config::Diagnostics& diagnostics) {
  config::Diagnostics own;
  CaseStudy made{std::move(name), std::move(tree), std::move(changes), {}};
  config::Node changed = *made.tree;
  for (const config::Override& change : made.changes) study::apply_change(change, changed, own);
  study::Scenario scenario = study::read_scenario(std::move(changed), made.changes, own);
  scenario.name = made.name;
  if (own.ok() && scenario.runs() != 1) {
    own.error(made.tree->place, fmt::format("the scenario has {} runs, but a case is one run", scenario.runs()),
              "name a scenario without 'variants' and 'sweep', or remove them with 'set: {variants: null, sweep: null, "
              "compare: null}' and set what the case needs");
  }
  if (own.ok()) {
    if (auto study = study::prepare_runs(std::move(scenario), preparer, own)) made.study = std::move(*study);
  }
  for (const config::Diagnostic& error : own.sorted()) diagnostics.error(error.place, error.what, error.remedy);
  // If the preparer did not keep the run, the tree is still needed to prepare the run again.
  if (!made.study.runs.empty() && made.study.runs.front()) {
    made.study.scenario.tree = {};
    made.study.scenario.sets.clear();
  }
  return made;
}

bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics) {
  if (node.is_map()) return true;
  diagnostics.error(node.place, fmt::format("'{}.scenario' is {}, not a scenario", path, found(node)),
                    "name a .yaml file, or write its keys");
  return false;
}

}  // namespace moire::validate
