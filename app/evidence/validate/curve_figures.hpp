// Figures of measured and simulated curves of microbenchmarks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/report/plot.hpp"

namespace moire::validate {

struct CurveValue {
  std::map<std::string, double> parameters;
  double measured = 0, low = 0, high = 0;
  double simulated = 0;
};

// Returns a figure whose x axis is the parameter with the most values. The other parameters distinguish series. Series
// with the most points come first. A `unit` of "1" is not shown. Returns no figure if no parameter has two values.
std::vector<report::Figure> curve_figures(const std::string& name, const std::string& metric, const std::string& unit,
                                          const std::vector<CurveValue>& values);

}  // namespace moire::validate
