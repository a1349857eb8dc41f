// Prepares the single run of a case.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"

namespace moire::validate {

// A prepared case, and the tree and changes from which `moire calibrate` prepares the case again with other values. The
// scenario in `study` has no tree of its own. A file may have thousands of cases, and every forked process would pay
// for the memory of their trees.
struct CaseStudy {
  std::string name;
  std::shared_ptr<const config::Node> tree;  // tree of the scenario, without the changes
  std::vector<config::Override> changes;
  study::PreparedStudy study;
};

// Prepares a case. If `diagnostics` has errors afterwards, the case must not be run.
CaseStudy prepare_case(std::string name, std::shared_ptr<const config::Node> tree,
                       std::vector<config::Override> changes, study::Preparer& preparer,
                       config::Diagnostics& diagnostics);

// True if `node` is a scenario; else reports that it is not. `path` is the group's position, such as "groups.0".
bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics);

}  // namespace moire::validate
