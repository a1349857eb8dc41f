// Fits a hardware file to measurements: reads some values directly, fits the others in stages, and reports the errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/curves.hpp"

namespace moire::calibrate {

struct Options {
  link::Wiring wiring = link::Wiring::nvswitch;
  int passes = 2;  // how often all stages are fitted: a later stage changes values that an earlier one depends on
};

// A parameter of the file that calibration has determined.
struct Change {
  std::string path;
  std::string before;  // as written in the file; "" if it was absent
  std::string after;
  std::string source;              // key of the source
  std::size_t points = 0;          // number of points from which it was determined
  std::optional<double> residual;  // rms of the relative errors of these points
  std::optional<double> worst;     // largest relative error of these points, with its sign
};

struct Found {
  std::vector<Change> changes;
  std::vector<std::string> kept;            // parameters that the measurements do not determine, "path: why"
  std::vector<measurements::Curve> curves;  // measured values, and values simulated after the calibration
  int simulations = 0;                      // number of simulated points
};

struct Calibration : Found {
  HardwareFile hardware;
};

// Returns a text that states where rows were measured:
// "Moire calibration, 4x NVIDIA H200, 2026-11-21, driver ..., h200x4.measurements.csv"
std::string provenance(const measurements::Measurements& measurements,
                       const std::vector<const measurements::MeasuredValue*>& rows);

struct Errors {
  double rms = 0;    // of the relative errors
  double worst = 0;  // largest relative error, with its sign
};
std::string signed_percent(double part);  // returns "-3.7 %" for -0.037; a value that rounds to 0 is "+0.0 %"
Errors errors_of(const std::vector<const measurements::MeasuredValue*>& rows, const std::vector<double>& simulated);

// Returns the calibrated file and its errors. Returns nothing and reports errors if measurements contradict each other
// or the hardware. The curves of the result point into `measurements`.
std::optional<Calibration> calibrate(const measurements::Measurements& measurements, HardwareFile hardware,
                                     config::Diagnostics& diagnostics, const Options& options = {},
                                     const std::vector<microbench::Benchmark>& known = microbench::all());

}  // namespace moire::calibrate
