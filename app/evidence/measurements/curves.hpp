// Compares measured and simulated values of each benchmark.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::measurements {

struct CurvePoint {
  const MeasuredValue* measured = nullptr;
  double simulated = 0;
  double resolution = 0;  // possible error due to the timer's steps, in the unit of the measured value

  double error() const;  // returns the relative error beyond `resolution`; the measured value must not be 0
};

// All values of one metric of one benchmark, with their parameters.
struct Curve {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::vector<CurvePoint> points;  // in the order of the file

  double mean_error() const;  // returns the mean of the absolute values of the points' errors
  const CurvePoint& worst() const;
};

// Limits on the relative errors of a calibrated machine: on the mean error of a curve, and on the error of its worst
// point. Reports mark curves that exceed a limit.
constexpr double curve_mean_limit = 0.05;
constexpr double curve_worst_limit = 0.15;
bool within_limits(const Curve& curve);

// Returns a system of one node with as many GPUs as the measured machine. Each GPU is like `gpu`, and `wiring` connects
// them.
libraries::EquippedSystem measured_system(const Measurements& measurements, const libraries::EquippedGpu& gpu,
                                          link::Wiring wiring);

// Returns the simulated value of each measured value, in the same unit. It is NaN if the benchmark has no simulation or
// if its simulation does not compute the metric. A benchmark runs once for all metrics with the same parameters.
std::vector<double> simulate(const std::vector<const MeasuredValue*>& values, const libraries::EquippedSystem& system,
                             const std::vector<Benchmark>& known);

// Simulates all values of `measurements`, like simulate(). If `system` cannot run a set of parameters, reports an error
// at the first row with this set; the values of this set are then NaN.
std::vector<double> simulate_all(const Measurements& measurements, const libraries::EquippedSystem& system,
                                 const std::vector<Benchmark>& known, config::Diagnostics& diagnostics);

// Returns a curve for every metric that can be simulated, in the order of the file. Leaves out measured values of 0.
std::vector<Curve> curves(const Measurements& measurements, const libraries::EquippedSystem& system,
                          const std::vector<Benchmark>& known = microbench::all());

}  // namespace moire::measurements
