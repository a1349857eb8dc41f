// Shows several validation files in one table: the errors of each group, and the group's share of all errors.
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

// Returns a table of the groups, ordered by their share of all errors, the largest first. A group's share is the sum of
// its absolute errors, divided by the sum over all groups with a share. Differences, effects and speed-ups come last
// and have no share, because their errors follow from other groups. Traces and groups without measured cases are
// omitted. A group that a profile was fitted to is marked `fitted`. A group whose cases were predicted before they were
// measured also shows the mean error of those predictions. A group that several machines measured shows their mean
// difference, which a model of one machine cannot predict.
report::Document overview_of(const std::vector<Validated>& files);

}  // namespace moire::validate
