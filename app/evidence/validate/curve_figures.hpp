// Measured and simulated curves of microbenchmarks.
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

// Over the parameter that takes most values; the others tell the series apart, those with most points first. `unit` may
// be "1", which is not shown. Nothing where no parameter takes two values.
std::vector<report::Figure> curve_figures(const std::string& name, const std::string& metric, const std::string& unit,
                                          const std::vector<CurveValue>& values);

}  // namespace moire::validate
