// Simulates measurements from a known profile and tests that calibration from another profile finds its values.
#include "app/evidence/calibrate/library_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "app/evidence/microbench/library.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::calibrate {
namespace {

using libraries::LibrarySpec;
using ::testing::HasSubstr;

const std::string nccl = (std::filesystem::path(support::source_dir()) / "configs/libraries/nccl.yaml").string();
const std::string header =
    "# moire-measurements 1\n# gpu: NVIDIA H200\n# gpus: 4\n# driver: 580\n# date: 2026-11-21T10:00:00Z\n"
    "# command: made up\nbenchmark,parameters,metric,value,unit,repetitions,low,high\n";

LibrarySpec profile(const config::Node& root) {
  config::Diagnostics diagnostics;
  const auto library = config::parse<LibrarySpec>(root, diagnostics);
  EXPECT_TRUE(library) << diagnostics.str();
  return library.value_or(LibrarySpec{});
}

measurements::Measurements read(const std::string& rows) {
  config::Diagnostics diagnostics;
  auto measurements = measurements::read_measurements("made.measurements.csv", header + rows, diagnostics);
  EXPECT_TRUE(measurements) << diagnostics.str();
  return measurements.value_or(measurements::Measurements{});
}

TEST(CalibrateLibrary, FindsTheProfileThatMadeTheMeasurements) {
  config::Diagnostics diagnostics;
  LibrarySpec truth = profile(*config::load(nccl, {}, diagnostics));
  truth.setup = Time::from_us(3);
  truth.step_overhead = Time::from_us(1.5);
  truth.copy_cost = 1.5;
  truth.link_cost = 1.3;
  truth.low_latency->step_overhead = Time::from_us(0.5);
  const libraries::EquippedSystem system = libraries::example_equipped(4);
  const auto known = microbench::with_library(truth);
  const auto benchmark =
      std::find_if(known.begin(), known.end(), [](const auto& b) { return b.name == "all_to_all_nccl"; });
  std::string rows;
  for (const int gpus : {2, 4}) {
    for (const int ctas : {0, 4}) {
      for (double bytes = 4096; bytes <= 64 * 1048576; bytes *= 8) {
        const double time = benchmark
                                ->run(system, {{"bytes_per_rank", gpus * bytes},
                                               {"gpus", static_cast<double>(gpus)},
                                               {"max_ctas", static_cast<double>(ctas)}})
                                .at("time");
        rows += fmt::format("all_to_all_nccl,bytes_per_rank={:.0f} gpus={} max_ctas={},time,{},us,1,{},{}\n",
                            gpus * bytes, gpus, ctas, time, time, time);
      }
    }
  }
  const measurements::Measurements measurements = read(rows);
  const auto found = calibrate_library(measurements, nccl, libraries::EquippedGpu{system.node.gpu}, diagnostics);
  ASSERT_TRUE(found) << diagnostics.str();
  const LibrarySpec again = profile(*config::load_text("found.yaml", found->yaml, {}, diagnostics));
  EXPECT_NEAR(again.setup.us(), 3, 0.03);
  EXPECT_NEAR(again.step_overhead.us(), 1.5, 0.03);
  EXPECT_NEAR(again.copy_cost, 1.5, 0.02);
  EXPECT_NEAR(again.link_cost, 1.3, 0.02);
  EXPECT_NEAR(again.low_latency->step_overhead.us(), 0.5, 0.02);
  EXPECT_EQ(again.slots, truth.slots) << "`slots` comes from the library's source code and is not fitted";
  EXPECT_THAT(found->yaml, HasSubstr("4x NVIDIA H200, 2026-11-21, driver 580, made.measurements.csv"));
  ASSERT_EQ(found->curves.size(), 1);
  EXPECT_LT(found->curves[0].mean_error(), 0.002);
}

// The fit finds the values of rings with which the rows were simulated.
TEST(CalibrateLibrary, FindsWhatRingsAdd) {
  config::Diagnostics diagnostics;
  LibrarySpec truth = profile(*config::load(nccl, {}, diagnostics));
  truth.channels->setup = Time::from_us(3);
  truth.channels->copy_cost = 1.5;
  truth.channels->link_cost = 1.3;
  truth.channels->simple.step_overhead = Time::from_us(1.5);
  truth.channels->simple.step_spread = 0;
  truth.channels->ll->batch_pause = Time::from_ns(300);
  const libraries::EquippedSystem system = libraries::example_equipped(4);
  const auto known = microbench::with_library(truth);
  std::string rows;
  for (const char* name : {"all_gather_nccl", "all_reduce_nccl"}) {
    const auto benchmark = std::find_if(known.begin(), known.end(), [&](const auto& b) { return b.name == name; });
    for (const int gpus : {2, 4}) {
      for (const int ctas : {0, 4}) {
        for (double bytes = 65536; bytes <= 4 * 1048576; bytes *= 4) {
          const double time = benchmark
                                  ->run(system, {{"bytes_per_rank", bytes},
                                                 {"gpus", static_cast<double>(gpus)},
                                                 {"max_ctas", static_cast<double>(ctas)}})
                                  .at("time");
          rows += fmt::format("{},bytes_per_rank={:.0f} gpus={} max_ctas={},time,{},us,1,{},{}\n", name, bytes, gpus,
                              ctas, time, time, time);
        }
      }
    }
  }
  const measurements::Measurements measurements = read(rows);
  const auto found = calibrate_library(measurements, nccl, libraries::EquippedGpu{system.node.gpu}, diagnostics);
  ASSERT_TRUE(found) << diagnostics.str();
  const LibrarySpec again = profile(*config::load_text("found.yaml", found->yaml, {}, diagnostics));
  EXPECT_NEAR(again.channels->setup.us(), 3, 0.3);
  EXPECT_NEAR(again.channels->copy_cost, 1.5, 0.05);
  EXPECT_NEAR(again.channels->link_cost, 1.3, 0.05);
  EXPECT_NEAR(again.channels->simple.step_overhead.us(), 1.5, 0.2);
  EXPECT_NEAR(again.channels->ll->batch_pause.ns(), 300, 30);
  EXPECT_EQ(found->curves.size(), 2);
  for (const measurements::Curve& curve : found->curves) EXPECT_LT(curve.mean_error(), 0.01) << curve.benchmark;
}

TEST(CalibrateLibrary, NeedsRowsOfItsBenchmark) {
  config::Diagnostics diagnostics;
  const measurements::Measurements measurements = read("flag,,round_trip,1000,ns,1,1000,1000\n");
  EXPECT_FALSE(calibrate_library(measurements, nccl, libraries::EquippedGpu{machine::example_gpu()}, diagnostics));
  EXPECT_THAT(diagnostics.str(), HasSubstr("there is no row of all_to_all_nccl"));
}

}  // namespace
}  // namespace moire::calibrate
