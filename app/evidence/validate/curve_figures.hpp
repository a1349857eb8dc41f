// Draws measured and simulated curves of microbenchmarks.
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

// Returns a figure of one metric of the benchmark `name`. The x axis is the parameter with the most different values.
// Points that agree in all other parameters form a series. The figure shows at most the four series with the most
// points. A `unit` of "1" is not shown. Returns an empty list if no parameter has two different values.
std::vector<report::Figure> curve_figures(const std::string& name, const std::string& metric, const std::string& unit,
                                          const std::vector<CurveValue>& values);

}  // namespace moire::validate
