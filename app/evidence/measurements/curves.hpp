// Measured beside simulated, benchmark by benchmark.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::measurements {

struct CurvePoint {
  const MeasuredValue* measured = nullptr;
  double simulated = 0;
  double resolution = 0;  // what the measured value may be off because its timer has steps, in its unit

  double error() const;  // relative, beyond the resolution; the measured value is not 0
};

// One metric of one benchmark over all its parameters.
struct Curve {
  std::string benchmark;
  std::string metric;
  std::string unit;
  std::vector<CurvePoint> points;  // in the order of the file

  double mean_error() const;  // of absolute errors
  const CurvePoint& worst() const;
};

// What the issue of a calibrated machine is: beyond these a curve is flagged.
constexpr double curve_mean_limit = 0.05;
constexpr double curve_worst_limit = 0.15;
bool within_limits(const Curve& curve);

// A machine of one node as the file describes it: `gpus` of `gpu` behind a switch.
libraries::EquippedSystem measured_system(const Measurements& measurements, const libraries::EquippedGpu& gpu,
                                          link::Wiring wiring);

// The simulated value of each, in its unit; NaN where the benchmark has no simulation or does not tell this metric.
// Every benchmark runs once for all metrics at the same parameters.
std::vector<double> simulate(const std::vector<const MeasuredValue*>& values, const libraries::EquippedSystem& system,
                             const std::vector<Benchmark>& known);

// Runs every benchmark once at its parameters; an error at the row for each that this machine cannot run.
void check_simulations(const Measurements& measurements, const libraries::EquippedSystem& system,
                       const std::vector<Benchmark>& known, config::Diagnostics& diagnostics);

// Every curve that can be simulated, in the order of the file.
std::vector<Curve> curves(const Measurements& measurements, const libraries::EquippedSystem& system,
                          const std::vector<Benchmark>& known = microbench::all());

}  // namespace moire::measurements
