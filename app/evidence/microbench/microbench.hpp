// Simulates the benchmarks that the collectors in validation/ run on GPUs. There is one benchmark for each entry of
// docs/reference/measurements.md. Calibration compares simulated with measured values, so a fitted parameter has the
// meaning that the simulator gives it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/workload/libraries/software.hpp"

namespace moire::microbench {

using Parameters = std::map<std::string, double>;  // units as in a measurements file: bytes and counts, no prefixes
using Values = std::map<std::string, double>;      // metric -> value in the metric's unit

struct Quantity {
  std::string name;
  std::string unit;  // as in the file; "1" for counts
};

struct Benchmark {
  std::string name;
  std::string about;
  std::vector<std::vector<std::string>> parameters;  // each set of parameter names that a row may have
  std::vector<Quantity> metrics;
  // Simulates the benchmark with the parameters of a row. Returns the metrics that such a row has and that the models
  // can predict. `run` is empty if there is nothing to simulate (properties, clocks). Throws std::invalid_argument for
  // parameters that the system cannot have (more GPUs than a node has, more workgroups than fit on a CU).
  std::function<Values(const libraries::EquippedSystem&, const Parameters&)> run;
};

// Throws std::invalid_argument if a parameter is larger than any benchmark can use: more bytes than the memory of the
// GPU holds, or a count for which a simulation would take hours.
void check_sizes(const Parameters& parameters, const machine::GpuSpec& gpu);

const std::vector<Benchmark>& all();
const Benchmark* find(const std::string& name);

}  // namespace moire::microbench
