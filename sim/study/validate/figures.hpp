// The figures of a validation report.
#pragma once

#include "sim/study/validate/result.hpp"

namespace moire::study::validate {

// Measured against simulated, one figure for each unit, and the error of every case; then the group's own.
std::vector<plot::Figure> figures_of(const GroupResult& group);

// All groups whose errors are in percent in one scatter for each unit. Empty where there is only one group.
std::vector<plot::Figure> overall_figures(const ValidationResult& result);

}  // namespace moire::study::validate
