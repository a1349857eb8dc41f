// Fits a library's profile to the groups that `fit` in a validation file names. Their cases are simulated as by `moire
// validate`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/calibrate.hpp"

namespace moire::calibrate {

// A case of a fit. Its values are in the metric's unit.
struct FittedCase {
  std::string fit, group, name, unit;
  double measured = 0;
  double before = 0;  // simulated with the original file
  double after = 0;   // simulated with the fitted values
};

struct ValidationFit : Found {
  std::vector<FittedCase> cases;
  std::vector<std::string> at_bound;  // paths of values that ended at a bound of the search
  std::string yaml;                   // the profile with the fitted values
  std::string deadlock;               // the report of a case that deadlocks; if it is not empty, the rest is invalid
};

// Runs every scenario with `library` as system.library, at most `at_once` scenarios in parallel. The result does not
// depend on `at_once`. Fits are carried out in the order of the file. Each fit starts at the values in the validation
// file, so the profile's values of the fitted keys do not matter. Returns nothing and reports errors if one of the
// files is invalid, or if a key affects no case of its fit.
std::optional<ValidationFit> fit_to_validation(const std::filesystem::path& validation,
                                               const std::filesystem::path& library, std::size_t at_once,
                                               config::Diagnostics& diagnostics);

}  // namespace moire::calibrate
