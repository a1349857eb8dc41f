// Compares measured and simulated values, benchmark by benchmark.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::measurements {

struct CurvePoint {
  const MeasuredValue* measured = nullptr;
  double simulated = 0;
  double resolution = 0;  // possible error of the measured value due to its timer's steps, in its unit

  double error() const;  // relative, less the resolution; the measured value must not be 0
};

// One metric of one benchmark, for all parameters.
struct Curve {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::vector<CurvePoint> points;  // in the order of the file

  double mean_error() const;  // mean of absolute errors
  const CurvePoint& worst() const;
};

// The accuracy that a calibrated machine must reach; curves beyond it are flagged.
constexpr double curve_mean_limit = 0.05;
constexpr double curve_worst_limit = 0.15;
bool within_limits(const Curve& curve);

// A system of one node as the measurements describe it: `gpus` times `gpu`, with this wiring.
libraries::EquippedSystem measured_system(const Measurements& measurements, const libraries::EquippedGpu& gpu,
                                          link::Wiring wiring);

// The simulated value of each, in its unit; NaN if the benchmark has no simulation or the simulation does not give this
// metric. A benchmark runs once for all metrics with the same parameters.
std::vector<double> simulate(const std::vector<const MeasuredValue*>& values, const libraries::EquippedSystem& system,
                             const std::vector<Benchmark>& known);

// Runs every benchmark once for each of its parameters; reports an error at the row of each that this machine cannot
// run.
void check_simulations(const Measurements& measurements, const libraries::EquippedSystem& system,
                       const std::vector<Benchmark>& known, config::Diagnostics& diagnostics);

// All curves that can be simulated, in the order of the file.
std::vector<Curve> curves(const Measurements& measurements, const libraries::EquippedSystem& system,
                          const std::vector<Benchmark>& known = microbench::all());

}  // namespace moire::measurements
