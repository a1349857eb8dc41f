// The one run that a case is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"

namespace moire::validate {

// A case, prepared, and what it is made of: calibration makes it again with other values. The prepared scenario has
// lost its tree; a file has thousands of cases, and each process that is forked pays for them.
struct CaseStudy {
  std::string name;
  std::shared_ptr<const config::Node> tree;  // of the scenario, before the changes
  std::vector<config::Override> changes;
  study::PreparedStudy study;
};

// With errors in `diagnostics` it must not be run.
CaseStudy prepare_case(std::string name, std::shared_ptr<const config::Node> tree,
                       std::vector<config::Override> changes, study::Preparer& preparer,
                       config::Diagnostics& diagnostics);

// A scenario was named, or written; a diagnostic where it is neither. `path` is where the group stands, "groups.0".
bool is_scenario(const config::Node& node, const std::string& path, config::Diagnostics& diagnostics);

}  // namespace moire::validate
