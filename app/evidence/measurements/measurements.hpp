// A measurements file: results of microbenchmarks on real hardware (docs/reference/measurements.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::measurements {

using microbench::Benchmark;
using microbench::Parameters;

// One line of the file: one measured number.
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
  std::size_t file = 0;  // index of the file that contains the line; 0 if files are not joined
};

// One file: where and when its values were measured.
struct Collection {
  std::shared_ptr<const config::Source> source;
  std::int64_t gpus = 0;
  std::string driver;
  std::string date;
};

// The contents of one file, or of several joined files. Joined contents have the header of the first file.
struct Measurements {
  std::shared_ptr<const config::Source> source;
  std::vector<std::pair<std::string, std::string>> header;  // keys and values as written
  std::string gpu;
  std::int64_t gpus = 0;
  std::string driver;
  std::string date;
  std::vector<MeasuredValue> values;  // in the order of the files
  std::vector<Collection> later;      // the files after the first

  Collection collection(std::size_t file) const;
  config::Place place(const MeasuredValue& value) const { return {collection(value.file).source, value.line, 1}; }
  std::vector<const MeasuredValue*> all(std::string_view benchmark, std::string_view metric) const;
  // Returns the value with these parameters, or nullptr.
  const MeasuredValue* find(std::string_view benchmark, std::string_view metric, const Parameters& parameters) const;
};

bool is_measurements(const std::filesystem::path& file);  // true if the name is *.measurements.csv

// Both functions return nothing and report errors if anything is wrong. `known` lists the benchmarks that may occur.
std::optional<Measurements> load_measurements(const std::filesystem::path& file, config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known = microbench::all());
std::optional<Measurements> read_measurements(const std::string& name, const std::string& text,
                                              config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known = microbench::all());

// Appends the values of a later file to `first`. Reports an error if the later file is from another kind of GPU or
// repeats a measurement. Properties, timer and power of the GPU may be in every file; the first file's values are kept.
void join(Measurements& first, Measurements later, config::Diagnostics& diagnostics);
// Returns the joined contents of the files, in order. Returns nothing and reports errors if anything is wrong.
std::optional<Measurements> load_joined(const std::vector<std::string>& files, config::Diagnostics& diagnostics);

std::string to_string(const Parameters& parameters);  // returns text such as "wgs=1 wgs_per_sm=1"

}  // namespace moire::measurements
