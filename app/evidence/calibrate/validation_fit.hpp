// Fits a library's profile to groups of a validation file: what its `fit` names, simulated as `moire validate` does.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/calibrate.hpp"

namespace moire::calibrate {

// A case that a fit looked at, in the metric's unit.
struct FittedCase {
  std::string fit, group, name, unit;
  double measured = 0;
  double before = 0;  // simulated with the file as it was
  double after = 0;
};

struct ValidationFit : Found {
  std::vector<FittedCase> cases;
  std::vector<std::string> at_bound;  // values that went as far as they may
  std::string yaml;                   // the profile, with these values
  std::string deadlock;  // the report of a case that waits for ever; where it is not empty the rest is of no use
};

// Every scenario runs with `library` as system.library, up to `at_once` side by side, which changes no result. Fits
// follow each other; each begins where the file says, so what the profile has of these values does not matter. Nothing,
// with the reasons in `diagnostics`, where one of the files is wrong.
std::optional<ValidationFit> fit_to_validation(const std::filesystem::path& validation,
                                               const std::filesystem::path& library, std::size_t at_once,
                                               config::Diagnostics& diagnostics);

}  // namespace moire::calibrate
