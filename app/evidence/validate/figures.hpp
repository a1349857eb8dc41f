// The figures of a validation report.
#pragma once

#include "app/evidence/validate/result.hpp"

namespace moire::validate {

// Measured against simulated, one figure for each unit, and the error of every case; then the group's own.
std::vector<report::Figure> figures_of(const GroupResult& group);

// All groups whose errors are in percent in one scatter for each unit. Empty where there is only one group.
std::vector<report::Figure> overall_figures(const ValidationResult& result);

}  // namespace moire::validate
