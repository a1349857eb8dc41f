// Prepares the run that simulates one case of a validation file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"

namespace moire::validate {

// A case whose run is prepared. `moire calibrate` prepares the case again from `tree` and `changes`, with other values
// of the fitted parameters. If the prepared run is kept in memory, `study.scenario.tree` is empty: a file may have
// thousands of cases, and a fork takes longer the more memory the process has.
struct CaseStudy {
  std::string name;
  std::shared_ptr<const config::Node> tree;  // tree of the scenario, without the changes
  std::vector<config::Override> changes;
  study::PreparedStudy study;
};

// Returns the prepared case. If `diagnostics` has errors afterwards, the case must not be run.
CaseStudy prepare_case(std::string name, std::shared_ptr<const config::Node> tree,
                       std::vector<config::Override> changes, study::Preparer& preparer,
                       config::Diagnostics& diagnostics);

// Returns true if `node` is a map, as a scenario must be. Otherwise reports an error, in which `path` names the group,
// such as "groups.0".
bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics);

}  // namespace moire::validate
