// What calibration determines, from which measurements and in which order: one table entry a parameter.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

// What tables may look at.
struct Context {
  const measurements::Measurements& measurements;
  const HardwareFile& hardware;
  double sms() const;  // of the GPU as it stands
};

// Read off, not fitted.
struct Reading {
  std::string path;
  std::string stage;  // names the source
  std::string about;  // how
  int digits = 0;     // significant ones to write; 0: all
  // The value in base units and the rows it comes from; nothing where they are not in the file.
  struct Found {
    double value = 0;
    std::vector<const measurements::MeasuredValue*> rows;
  };
  std::function<std::optional<Found>(const Context&)> read;
};
const std::vector<Reading>& readings();

struct Parameter {
  std::string path;
  double low = 0;  // in base units: what physics or the specs allow
  double high = 0;
  std::string below = {};  // a parameter that it may not exceed
  // Where the search begins; empty: where the hardware file stands.
  std::function<std::optional<double>(const Context&)> start = {};
};

// Points of one metric.
struct Selection {
  std::string benchmark;
  std::string metric;
  std::function<bool(const microbench::Parameters&, const Context&)> where = {};  // empty: all
  std::size_t at_most = 12;  // more are thinned evenly for the fit; the residual is that of all
};

// microbench::Parameters fitted together to points that tell them apart.
struct Stage {
  std::string name;
  std::string about;
  std::vector<Parameter> parameters;
  std::vector<Selection> selections;
  bool valleys = false;  // the loss has several: the search begins at half and at twice the start too
  bool steps = false;    // the loss has steps, and slopes say nothing: its parameters are scanned
};
const std::vector<Stage>& stages();

// Stages whose parameters pull at each other's points: after the fit of the last one they are refined together, before
// later stages rest on them.
const std::vector<std::vector<std::string>>& joint_stages();

}  // namespace moire::calibrate
