#include "app/evidence/measurements/curves.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "app/evidence/microbench/library.hpp"
#include "tests/support/shipped_gpu.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::measurements {
namespace {

// Returns one row for each set of parameter names with which a benchmark was measured.
std::vector<MeasuredValue> one_of_each(const Measurements& measurements) {
  std::vector<MeasuredValue> out;
  std::set<std::pair<std::string, std::set<std::string>>> seen;
  for (const MeasuredValue& value : measurements.values) {
    std::set<std::string> names;
    for (const auto& [name, number] : value.parameters) names.insert(name);
    if (seen.emplace(value.benchmark, names).second) out.push_back(value);
  }
  return out;
}

std::vector<Benchmark> with_shipped_library(const std::string& name) {
  config::Diagnostics diagnostics;
  const auto tree = config::load(support::source_dir() + "/configs/libraries/" + name + ".yaml", {}, diagnostics);
  return microbench::with_library(*config::parse<libraries::LibrarySpec>(*tree, diagnostics));
}

// A row with one absurd parameter is simulated, or is an error at its line. It never crashes, and never takes for ever.
TEST(Curves, EveryParameterOfARowIsSimulatedOrRefused) {
  std::size_t tried = 0;
  for (const auto& [file, library] : {std::pair{"h200x4/h200x4", "nccl"},
                                      {"h200x4/c3_isolated", "nccl"},
                                      {"h200x2/h200x2", "nccl"},
                                      {"h200x2/gather_length", "nccl"},
                                      {"h200x2/power", "nccl"},
                                      {"h200x2/msccl", "interpreter"},
                                      {"h200x2/msccl_exchange", "interpreter"}}) {
    const std::vector<Benchmark> known = with_shipped_library(library);
    config::Diagnostics diagnostics;
    const auto measurements =
        load_measurements(support::source_dir() + "/traces/" + file + ".measurements.csv", diagnostics, known);
    ASSERT_TRUE(measurements) << diagnostics.str();
    const auto system = measured_system(*measurements, support::shipped_gpu("h200"), link::Wiring::nvswitch);
    Measurements rows = *measurements;
    for (const MeasuredValue& measured : one_of_each(*measurements)) {
      for (const auto& [name, number] : measured.parameters) {
        for (const double absurd : {0.0, 0.5, 1.0, 3.0, 1e18}) {
          MeasuredValue row = measured;
          row.parameters[name] = absurd;
          rows.values = {row};
          config::Diagnostics refused;
          const std::string text = fmt::format("{}: {} {}", file, row.benchmark, to_string(row.parameters));
          try {
            const double simulated = simulate_all(rows, system, known, refused).front();
            EXPECT_TRUE(std::isnan(simulated) || (std::isfinite(simulated) && simulated >= 0))
                << text << " is " << simulated;
          } catch (const std::exception& error) {
            ADD_FAILURE() << text << ": " << error.what();
          }
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 900U);
}

}  // namespace
}  // namespace moire::measurements
