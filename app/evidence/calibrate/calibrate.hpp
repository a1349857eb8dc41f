// Fits a hardware file to measurements: reads off what can be, fits the rest stage by stage, says how well.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/curves.hpp"

namespace moire::calibrate {

struct Options {
  link::Wiring wiring = link::Wiring::nvswitch;
  int passes = 2;  // over all stages: a later stage moves what an earlier one rests on
};

// One parameter that was determined.
struct Change {
  std::string path;
  std::string before;  // as written in the file; "" where it was not
  std::string after;
  std::string source;              // its key
  std::size_t points = 0;          // that it rests on
  std::optional<double> residual;  // rms of the relative errors of these points
  std::optional<double> worst;     // the one farthest off, signed
};

struct Found {
  std::vector<Change> changes;
  std::vector<std::string> kept;            // parameters of the tables that nothing determined, "path: why"
  std::vector<measurements::Curve> curves;  // of the result
  int simulations = 0;                      // of a stage's points
};

struct Calibration : Found {
  HardwareFile hardware;
};

// "Moire calibration, 4x NVIDIA H200, 2026-11-21, driver ..., h200x4.measurements.csv"
std::string provenance(const measurements::Measurements& measurements,
                       const std::vector<const measurements::MeasuredValue*>& rows);

struct Errors {
  double rms = 0;
  double worst = 0;  // signed
};
std::string signed_percent(double part);  // "-3.7 %", and what rounds to 0 has no sign of its own: "+0.0 %"
Errors errors_of(const std::vector<const measurements::MeasuredValue*>& rows, const std::vector<double>& simulated);

// Nothing, with the reasons in `diagnostics`, where measurements contradict each other or the hardware. The curves
// point into `measurements`.
std::optional<Calibration> calibrate(const measurements::Measurements& measurements, HardwareFile hardware,
                                     config::Diagnostics& diagnostics, const Options& options = {},
                                     const std::vector<microbench::Benchmark>& known = microbench::all());

}  // namespace moire::calibrate
