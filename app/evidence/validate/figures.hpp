// The figures of a validation report.
#pragma once

#include "app/evidence/validate/result.hpp"

namespace moire::validate {

// Returns the group's own figures. If the group has errors, a plot of simulated over measured values for each unit and
// a figure of the errors come first. Groups of kind "trace" have only their own figures.
std::vector<report::Figure> figures_of(const GroupResult& group);

// Returns for each unit a plot of the simulated over the measured values of all scenario groups. Returns no plot if
// fewer than two scenario groups have errors.
std::vector<report::Figure> overall_figures(const ValidationResult& result);

}  // namespace moire::validate
