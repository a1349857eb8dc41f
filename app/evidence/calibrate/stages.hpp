// The table of parameters that calibration determines: from which measurements, and in which order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

// What entries of the table may use.
struct Context {
  const measurements::Measurements& measurements;
  const HardwareFile& hardware;
  double sms() const;  // of the GPU with its current values
};

// A value that is read from measurements without a fit.
struct Reading {
  std::string path;
  std::string stage;  // key of the source
  std::string about;  // how the value is read
  int digits = 0;     // significant digits to write; 0: all
  // The value in base units and the rows it comes from; empty if the file has none.
  struct Found {
    double value = 0;
    std::vector<const measurements::MeasuredValue*> rows;
  };
  std::function<std::optional<Found>(const Context&)> read;
};
const std::vector<Reading>& readings();

struct Parameter {
  std::string path;
  double low = 0;  // in base units: the range that physics or the specs allow
  double high = 0;
  std::string below = {};  // path of a parameter that it must not exceed
  // Start of the search; absent: the value of the hardware file.
  std::function<std::optional<double>(const Context&)> start = {};
};

// Points of one metric.
struct Selection {
  std::string benchmark;
  std::string metric;
  std::function<bool(const microbench::Parameters&, const Context&)> where = {};  // absent: all
  std::size_t at_most = 12;  // the fit uses at most so many, evenly spread; the residual is over all
};

// Parameters that are fitted together, with points that distinguish them.
struct Stage {
  std::string name;
  std::string about;
  std::vector<Parameter> parameters;
  std::vector<Selection> selections;
  bool valleys = false;  // the loss has several minima: the search also starts at half and at twice the start
  bool steps = false;    // the loss has steps, so slopes are useless: the parameters are scanned
};
const std::vector<Stage>& stages();

// Stages whose parameters affect each other's points. After the last of them they are refined together, before later
// stages depend on them.
const std::vector<std::vector<std::string>>& joint_stages();

}  // namespace moire::calibrate
