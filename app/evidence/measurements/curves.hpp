// Compares measured and simulated values, benchmark by benchmark.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::measurements {

struct CurvePoint {
  const MeasuredValue* measured = nullptr;
  double simulated = 0;
  double resolution = 0;  // possible error due to the timer's steps, in the unit of the measured value

  double error() const;  // relative error beyond the resolution; the measured value must not be 0
};

// One metric of one benchmark, for all parameters.
struct Curve {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::vector<CurvePoint> points;  // in the order of the file

  double mean_error() const;  // mean of the absolute errors of the points
  const CurvePoint& worst() const;
};

// Largest relative errors of a calibrated machine: mean over a curve and worst point. Reports flag other curves.
constexpr double curve_mean_limit = 0.05;
constexpr double curve_worst_limit = 0.15;
bool within_limits(const Curve& curve);

// Returns a system of one node, which has as many GPUs as the measured machine, each like `gpu`, and this wiring.
libraries::EquippedSystem measured_system(const Measurements& measurements, const libraries::EquippedGpu& gpu,
                                          link::Wiring wiring);

// Returns the simulated value of each measured value, in the same unit. It is NaN if the benchmark has no simulation or
// the simulation does not compute this metric. A benchmark runs once for all metrics with the same parameters.
std::vector<double> simulate(const std::vector<const MeasuredValue*>& values, const libraries::EquippedSystem& system,
                             const std::vector<Benchmark>& known);

// Runs every benchmark once for each set of parameters. Reports an error at each row that `system` cannot run.
void check_simulations(const Measurements& measurements, const libraries::EquippedSystem& system,
                       const std::vector<Benchmark>& known, config::Diagnostics& diagnostics);

// Returns a curve for every metric that can be simulated, in the order of the file.
std::vector<Curve> curves(const Measurements& measurements, const libraries::EquippedSystem& system,
                          const std::vector<Benchmark>& known = microbench::all());

}  // namespace moire::measurements
