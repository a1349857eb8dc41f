// The parameters that calibration determines, the measurements that it uses for each parameter, and the order of the
// fits.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

// Input of the functions in the tables of readings and stages.
struct Context {
  const measurements::Measurements& measurements;
  const HardwareFile& hardware;
  double sms() const;  // number of SMs of the GPU with its current values
};

// A value that is read from measurements without a fit.
struct Reading {
  std::string path;
  std::string stage;  // the source of the value has the key measured_<stage>
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
  double low = 0;  // `low` and `high`: the range that physics or the specs allow, in base units
  double high = 0;
  std::string below = {};  // path of a parameter whose value is an upper bound
  // Returns the start of the search. Without this function or its result, the search starts at the value of the
  // hardware file.
  std::function<std::optional<double>(const Context&)> start = {};
};

// Selects points of one metric for a fit.
struct Selection {
  std::string benchmark;
  std::string metric;
  std::function<bool(const microbench::Parameters&, const Context&)> where = {};  // if absent, all points
  std::size_t at_most = 12;  // a fit uses at most this many points, evenly spread; the residual uses all points
};

// Parameters that are fitted together, with points that distinguish them.
struct Stage {
  std::string name;
  std::string about;
  std::vector<Parameter> parameters;
  std::vector<Selection> selections;
  bool valleys = false;  // the loss has several minima: the search also starts at half and at twice the start
};
const std::vector<Stage>& stages();

// Returns lists of stages; the parameters of each stage affect the points of the other stages in its list. After the
// last stage of a list, the parameters of all stages in the list are refined together, before later stages depend on
// them.
const std::vector<std::vector<std::string>>& joint_stages();

}  // namespace moire::calibrate
