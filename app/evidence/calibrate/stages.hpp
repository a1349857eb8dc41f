// The parameters that calibration determines, the measurements that it uses for each, and the order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

// What the functions in the tables may use.
struct Context {
  const measurements::Measurements& measurements;
  const HardwareFile& hardware;
  double sms() const;  // number of SMs of the GPU with its current values
};

// A value that is read from measurements without a fit.
struct Reading {
  std::string path;
  std::string stage;  // its source has the key measured_<stage>
  std::string about;  // how the value is read
  int digits = 0;     // significant digits to write; 0: all
  // The value in base units and the rows that it comes from. `read` returns nothing if the file has no such rows.
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
  std::string below = {};  // path of a parameter whose value is an upper bound
  // Returns the start of the search. If absent, the search starts at the value of the hardware file.
  std::function<std::optional<double>(const Context&)> start = {};
};

// Selects points of one metric for a fit.
struct Selection {
  std::string benchmark;
  std::string metric;
  std::function<bool(const microbench::Parameters&, const Context&)> where = {};  // if absent, all points
  std::size_t at_most = 12;  // of the points in the fit, evenly spread; the residual uses all points
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

// Returns lists of stages whose parameters affect each other's points. After the last stage of a list, the parameters
// of all its stages are refined together, before later stages depend on them.
const std::vector<std::vector<std::string>>& joint_stages();

}  // namespace moire::calibrate
