// Shows several validation files in one table: the error of each group, and its share of all errors.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/validate/validation.hpp"
#include "app/report/document.hpp"

namespace moire::validate {

struct Validated {
  std::string file;
  Validation validation;
  ValidationResult result;
};

// Returns a table of all groups, ordered by their share of all errors, the largest first. The share is the sum of the
// group's absolute errors over the same sum of all groups. Differences, effects, speed-ups and traces come last and
// have no share, because their errors follow from other groups or are not percentages. A group that a profile was
// fitted to is marked `fitted`. A group whose cases were predicted before they were measured also shows the mean error
// of those predictions.
report::Document overview_of(const std::vector<Validated>& files);

}  // namespace moire::validate
