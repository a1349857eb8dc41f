// A measurements file: what microbenchmarks on real hardware gave (docs/reference/measurements.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/microbench/microbench.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::study {

using models::microbench::Benchmark;
using models::microbench::Parameters;

// One line: one number that was measured.
struct MeasuredValue {
  std::string benchmark;
  Parameters parameters;
  std::string metric;
  double value = 0;  // median of the repetitions, in the metric's unit
  std::string unit;
  std::int64_t repetitions = 0;
  double low = 0;
  double high = 0;
  int line = 0;
};

struct Measurements {
  std::shared_ptr<const config::Source> source;
  std::vector<std::pair<std::string, std::string>> header;  // as written
  std::string gpu;
  std::int64_t gpus = 0;
  std::string driver;
  std::string date;
  std::vector<MeasuredValue> values;  // as written

  config::Place place(const MeasuredValue& value) const { return {source, value.line, 1}; }
  std::vector<const MeasuredValue*> all(std::string_view benchmark, std::string_view metric) const;
  // The one with these parameters, or nullptr.
  const MeasuredValue* find(std::string_view benchmark, std::string_view metric, const Parameters& parameters) const;
};

bool is_measurements(const std::filesystem::path& file);  // by name: ends in .measurements.csv

// Nothing, with the reasons in `diagnostics`, where anything is wrong. `known` says which benchmarks there are.
std::optional<Measurements> load_measurements(const std::filesystem::path& file, config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known = models::microbench::all());
std::optional<Measurements> read_measurements(const std::string& name, const std::string& text,
                                              config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known = models::microbench::all());

std::string to_string(const Parameters& parameters);  // "wgs=1 wgs_per_sm=1"

}  // namespace moire::study
