// Fits the measured numbers of a library's profile (configs/libraries) to its microbenchmark, on a calibrated machine.
#pragma once

#include <optional>
#include <string>

#include "app/evidence/calibrate/calibrate.hpp"

namespace moire::calibrate {

struct LibraryCalibration : Found {
  std::string yaml;  // the file, with these numbers
};

// Nothing, with the reasons in `diagnostics`, where the file is no right profile or the measurements have none of its
// benchmark. What the library's sources say stays as it is in `file`. The curves point into `measurements`.
std::optional<LibraryCalibration> calibrate_library(const measurements::Measurements& measurements,
                                                    const std::string& file, const libraries::EquippedGpu& gpu,
                                                    config::Diagnostics& diagnostics, const Options& options = {});

}  // namespace moire::calibrate
