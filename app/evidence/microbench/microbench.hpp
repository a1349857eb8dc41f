// What the collector measures, as programs of Moire: one benchmark of docs/reference/measurements.md each. Calibration
// runs them against measured values, so a parameter means what the simulator does with it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/workload/libraries/software.hpp"

namespace moire::microbench {

using Parameters = std::map<std::string, double>;  // as in the file: bytes and counts in full
using Values = std::map<std::string, double>;      // metric -> value in the metric's unit

struct Quantity {
  std::string name;
  std::string unit;  // as in the file; "1" for counts
};

struct Benchmark {
  std::string name;
  std::string about;
  std::vector<std::vector<std::string>> parameters;  // the sets of parameter names a row may have
  std::vector<Quantity> metrics;
  // Simulates it; gives those of the metrics that a row with these parameters has and the models have an answer to.
  // Empty for what has nothing to simulate (properties, clocks). Throws std::invalid_argument for parameters that the
  // system cannot have (more GPUs than a node, more workgroups than a CU).
  std::function<Values(const libraries::EquippedSystem&, const Parameters&)> run;
};

const std::vector<Benchmark>& all();
const Benchmark* find(const std::string& name);

}  // namespace moire::microbench
