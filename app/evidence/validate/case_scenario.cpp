#include "app/evidence/validate/case_scenario.hpp"

#include <fmt/format.h>

#include "app/study/prepare.hpp"

namespace moire::validate {

study::Scenario case_scenario(const std::string& name, const config::Node& tree, std::vector<config::Override> changes,
                              config::Diagnostics& diagnostics) {
  config::Diagnostics own;
  config::Node changed = tree;
  for (const config::Override& change : changes) study::apply_change(change, changed, own);
  study::Scenario scenario = study::read_scenario(std::move(changed), std::move(changes), own);
  scenario.name = name;
  if (own.ok() && scenario.runs() != 1) {
    own.error(tree.place, fmt::format("the scenario makes {} runs, and a case is one", scenario.runs()),
              "name one without 'variants' and 'sweep', or take them out by 'set: {variants: null, sweep: null, "
              "compare: null}' and set what the case needs");
  }
  if (own.ok()) study::check_runs(scenario, own);
  for (const config::Diagnostic& error : own.sorted()) diagnostics.error(error.place, error.what, error.remedy);
  return scenario;
}

bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics) {
  if (node.is_map()) return true;
  diagnostics.error(node.place, fmt::format("'{}.scenario' is {}, not a scenario", path, found(node)),
                    "name a .yaml file, or write its keys");
  return false;
}

}  // namespace moire::validate
