// The figures of a validation report.
#pragma once

#include "app/evidence/validate/result.hpp"

namespace moire::validate {

// Measured against simulated, one figure for each unit, and the error of every case; then the group's own figures.
std::vector<report::Figure> figures_of(const GroupResult& group);

// One scatter plot for each unit, of all groups with errors in percent. Empty if there is only one group.
std::vector<report::Figure> overall_figures(const ValidationResult& result);

}  // namespace moire::validate
