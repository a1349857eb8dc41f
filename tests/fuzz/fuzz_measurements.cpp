// libFuzzer: reads any bytes as measurements. An invalid file must have at least one error message, and at most 21. The
// rows of a valid file must have low <= value <= high, and must be the same after they are written and read again.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/evidence/measurements/measurements.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string written(const measurements::Measurements& measurements) {
  std::string out = "# moire-measurements 1\n";
  for (const auto& [key, value] : measurements.header) out += "# " + key + ": " + value + "\n";
  out += "benchmark,parameters,metric,value,unit,repetitions,low,high\n";
  for (const measurements::MeasuredValue& row : measurements.values) {
    out += fmt::format("{},{},{},{},{},{},{},{}\n", row.benchmark, measurements::to_string(row.parameters), row.metric,
                       row.value, row.unit, row.repetitions, row.low, row.high);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  const auto measurements = measurements::read_measurements("input", bytes, diagnostics);
  require(measurements.has_value() == diagnostics.ok());
  require(diagnostics.size() <= 21);
  if (!measurements) return 0;
  require(!measurements->values.empty());
  for (const measurements::MeasuredValue& row : measurements->values) {
    require(row.low <= row.value && row.value <= row.high && std::isfinite(row.high));
    require(measurements->find(row.benchmark, row.metric, row.parameters) == &row);
  }
  const std::string text = written(*measurements);
  const auto again = measurements::read_measurements("again", text, diagnostics);
  require(again.has_value() && written(*again) == text);
  return 0;
}
