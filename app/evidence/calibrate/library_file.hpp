// Fits a library's profile (configs/libraries) to measurements of its benchmarks on a calibrated machine.
#pragma once

#include <optional>
#include <string>

#include "app/evidence/calibrate/calibrate.hpp"

namespace moire::calibrate {

struct LibraryCalibration : Found {
  std::string yaml;  // the file with the fitted values
};

// Returns the fitted profile. Returns nothing and reports errors if `file` is not a valid profile, or if `measurements`
// has no rows of collective benchmarks. Entries of `file` that are not fitted stay unchanged. The curves of the result
// point into `measurements`.
std::optional<LibraryCalibration> calibrate_library(const measurements::Measurements& measurements,
                                                    const std::string& file, const libraries::EquippedGpu& gpu,
                                                    config::Diagnostics& diagnostics, const Options& options = {});

}  // namespace moire::calibrate
