// The figures of a validation report.
#pragma once

#include "app/evidence/validate/result.hpp"

namespace moire::validate {

// Returns a plot of simulated over measured values for each unit, a figure of the errors, and the group's own figures.
std::vector<report::Figure> figures_of(const GroupResult& group);

// Returns a plot of simulated over measured values of all scenario groups for each unit, or none for only one group.
std::vector<report::Figure> overall_figures(const ValidationResult& result);

}  // namespace moire::validate
