// A measurements file: what microbenchmarks on real hardware gave (docs/reference/measurements.md).
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
  std::size_t file = 0;  // of joined ones: 0 is the first
};

// One file: where and when its values were measured.
struct Collection {
  std::shared_ptr<const config::Source> source;
  std::int64_t gpus = 0;
  std::string driver;
  std::string date;
};

// Of one file, or of several that were joined: the header is then that of the first.
struct Measurements {
  std::shared_ptr<const config::Source> source;
  std::vector<std::pair<std::string, std::string>> header;  // as written
  std::string gpu;
  std::int64_t gpus = 0;
  std::string driver;
  std::string date;
  std::vector<MeasuredValue> values;  // as written
  std::vector<Collection> later;      // the files after the first

  Collection collection(std::size_t file) const;
  config::Place place(const MeasuredValue& value) const { return {collection(value.file).source, value.line, 1}; }
  std::vector<const MeasuredValue*> all(std::string_view benchmark, std::string_view metric) const;
  // The one with these parameters, or nullptr.
  const MeasuredValue* find(std::string_view benchmark, std::string_view metric, const Parameters& parameters) const;
};

bool is_measurements(const std::filesystem::path& file);  // by name: ends in .measurements.csv

// Nothing, with the reasons in `diagnostics`, where anything is wrong. `known` says which benchmarks there are.
std::optional<Measurements> load_measurements(const std::filesystem::path& file, config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known = microbench::all());
std::optional<Measurements> read_measurements(const std::string& name, const std::string& text,
                                              config::Diagnostics& diagnostics,
                                              const std::vector<Benchmark>& known = microbench::all());

// Values of a later file behind those of the first. Errors where it is of another kind of GPU or measured what is there
// already; properties of the GPU, its timer and its power are in every file: the first counts.
void join(Measurements& first, Measurements later, config::Diagnostics& diagnostics);
// All files of a list, joined in its order; nothing where anything is wrong.
std::optional<Measurements> load_joined(const std::vector<std::string>& files, config::Diagnostics& diagnostics);

std::string to_string(const Parameters& parameters);  // "wgs=1 wgs_per_sm=1"

}  // namespace moire::measurements
