// Several validation files in one table: what each group is off by, and what part of all errors it makes up.
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

// Groups in the order of the share of all errors that they make up, the largest first: the sum of the sizes of a
// group's errors over that of all groups. Differences, effects, speed-ups and traces, whose errors follow from other
// groups or are no percentages, come last, without a share. A group whose cases `fit` calibrates to is told as fitted;
// one whose cases were predicted before they were measured has the mean error of those predictions.
report::Document overview_of(const std::vector<Validated>& files);

}  // namespace moire::validate
