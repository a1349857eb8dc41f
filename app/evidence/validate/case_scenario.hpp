// Prepares the single run of a case.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"

namespace moire::validate {

// A prepared case and its ingredients, from which calibration prepares it again with other values. The prepared
// scenario has no tree: a file may have thousands of cases, and every forked process pays for them.
struct CaseStudy {
  std::string name;
  std::shared_ptr<const config::Node> tree;  // of the scenario, without the changes
  std::vector<config::Override> changes;
  study::PreparedStudy study;
};

// If there are errors in `diagnostics`, it must not be run.
CaseStudy prepare_case(std::string name, std::shared_ptr<const config::Node> tree,
                       std::vector<config::Override> changes, study::Preparer& preparer,
                       config::Diagnostics& diagnostics);

// True if `node` is a scenario; else reports that it is not. `path` is the group's position, "groups.0".
bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics);

}  // namespace moire::validate
