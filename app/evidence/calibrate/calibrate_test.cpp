// Simulates measurements from known values and tests that calibration from other values finds them. Also tests what
// calibration refuses.
#include "app/evidence/calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "app/evidence/calibrate/contradictions.hpp"
#include "app/evidence/calibrate/report.hpp"
#include "app/evidence/calibrate/stages.hpp"
#include "app/report/formats.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::calibrate {
namespace {

using ::testing::HasSubstr;
using Wiring = link::Wiring;

HardwareFile h200() {
  config::Diagnostics diagnostics;
  const auto path = std::filesystem::path(support::source_dir()) / "configs/hardware/h200.yaml";
  auto file = HardwareFile::load(path.string(), diagnostics);
  EXPECT_TRUE(file) << diagnostics.str();
  return file.value();
}

const std::string header =
    "# moire-measurements 1\n# gpu: NVIDIA H200\n# gpus: 4\n# driver: 580\n# date: 2026-11-21T10:00:00Z\n"
    "# command: made up\nbenchmark,parameters,metric,value,unit,repetitions,low,high\n";

measurements::Measurements read(const std::string& rows) {
  config::Diagnostics diagnostics;
  auto measurements = measurements::read_measurements("made.measurements.csv", header + rows, diagnostics);
  EXPECT_TRUE(measurements) << diagnostics.str();
  return measurements.value_or(measurements::Measurements{});
}

std::string row(const std::string& benchmark, const std::string& parameters, const std::string& metric, double value,
                const std::string& unit) {
  return fmt::format("{},{},{},{},{},1,{},{}\n", benchmark, parameters, metric, value, unit, value, value);
}

// Returns rows with simulated values of a GPU at these points; times and rates have errors of up to `scatter`.
std::string measured(const HardwareFile& gpu, const std::vector<std::pair<std::string, std::string>>& points,
                     double scatter = 0) {
  config::Diagnostics diagnostics;
  const auto spec = gpu.spec(diagnostics);
  std::string rows;
  int number = 0;
  for (const auto& [name, text] : points) {
    const microbench::Benchmark* benchmark = microbench::find(name);
    microbench::Parameters parameters;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      const std::string pair = text.substr(begin, end - begin);
      parameters[pair.substr(0, pair.find('='))] = std::stod(pair.substr(pair.find('=') + 1));
      begin = end + 1;
    }
    measurements::Measurements four;
    four.gpus = 4;
    const auto values = benchmark->run(measurements::measured_system(four, *spec, Wiring::nvswitch), parameters);
    for (const auto& metric : benchmark->metrics) {
      const auto it = values.find(metric.name);
      if (it == values.end()) continue;
      const double off = metric.unit == "1" ? 0 : scatter * (number * 37 % 21 - 10) / 10;  // counts are exact
      rows += row(name, text, metric.name, it->second * (1 + off), metric.unit);
    }
    ++number;
  }
  return rows;
}

// Returns a few points (name of a benchmark, parameters) of every benchmark that a stage uses.
std::vector<std::pair<std::string, std::string>> points() {
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](const char* benchmark, std::string parameters) {
    out.emplace_back(benchmark, std::move(parameters));
  };
  for (const int wgs : {1, 4, 8}) add("dispatch", fmt::format("wgs_per_sm={}", wgs));
  for (const int bytes : {4096, 16384, 65536}) {
    add("hbm_read", fmt::format("wgs=1 wgs_per_sm=1 in_flight_bytes={}", bytes));
    add("hbm_copy", fmt::format("wgs=1 wgs_per_sm=1 in_flight_bytes={}", bytes));
  }
  for (const int wgs : {132, 264}) {
    add("hbm_read", fmt::format("wgs={} wgs_per_sm={} in_flight_bytes=32768", wgs, wgs / 132));
    add("hbm_copy", fmt::format("wgs={} wgs_per_sm={} in_flight_bytes=32768", wgs, wgs / 132));
    add("hbm_write", fmt::format("wgs={} wgs_per_sm={}", wgs, wgs / 132));
  }
  // Includes half load: at full load alone, growth and exponent of the latency can compensate each other.
  for (const int wgs : {66, 99}) add("hbm_read", fmt::format("wgs={} wgs_per_sm=1 in_flight_bytes=32768", wgs));
  for (const int bytes : {4096, 16384, 65536}) {
    add("gather", fmt::format("row_bytes=512 wgs=1 wgs_per_sm=1 in_flight_bytes={} footprint_bytes=8589934592", bytes));
  }
  for (const int bytes : {256, 1024}) {
    add("gather",
        fmt::format("row_bytes={} wgs=528 wgs_per_sm=4 in_flight_bytes=32768 footprint_bytes=8589934592", bytes));
  }
  add("gather", "row_bytes=512 wgs=528 wgs_per_sm=4 in_flight_bytes=32768 footprint_bytes=134217728");
  for (const int sms : {2, 8, 16}) add("gpc_read", fmt::format("gpc=1 sms={} wgs_per_sm=4 in_flight_bytes=32768", sms));
  for (const int bytes : {4096, 32768}) {
    add("peer_copy", fmt::format("wgs=1 peers=1 senders=1 in_flight_bytes={}", bytes));
  }
  for (const int background : {16, 32, 48, 64, 96}) {
    for (const int victims : {1, 4}) {
      add("loaded_latency",
          fmt::format("victims={} in_flight_bytes=8192 background={} background_in_flight_bytes=131072 remote=0",
                      victims, background));
    }
  }
  for (const auto& [row, stored] : {std::pair(128, 0), {512, 8192}, {512, 32768}}) {
    add("gather_length", fmt::format("row_bytes={} footprint_bytes=8589934592 wgs=2048 wgs_per_sm=1 "
                                     "in_flight_bytes=32768 gather_bytes=524288 store_bytes={}",
                                     row, stored));
  }
  for (const char* bytes : {"1048576", "8589934592"}) add("chase", fmt::format("footprint_bytes={}", bytes));
  add("l2_read", "footprint_bytes=16777216 wgs=528 wgs_per_sm=4 in_flight_bytes=32768");
  add("vector_rate", "sms=132 wgs_per_sm=8");
  add("matrix_rate", "sms=132");
  add("flag", "");
  add("fence", "remote=0 store_bytes=0");
  for (const int bytes : {4096, 65536}) add("fence", fmt::format("remote=1 store_bytes={}", bytes));
  for (const int wgs : {1, 32, 132}) {
    add("peer_store", fmt::format("wgs={} peers=1 senders=1 chunk_bytes=0", wgs));
  }
  add("launch", "");
  add("launch", "wgs=132");
  for (const char* bytes : {"1048576", "16777216", "268435456"}) {
    add("copy_single", fmt::format("bytes={} remote=1", bytes));
    add("copy_chunked", fmt::format("bytes={} chunks=16", bytes));
    add("copy_fan_in", fmt::format("bytes={} senders=3", bytes));
    add("copy_streams", fmt::format("bytes={} copies=3", bytes));
    add("copy_fan_out", fmt::format("bytes={} peers=3", bytes));
  }
  return out;
}

TEST(Calibrate, FindsTheValuesThatMadeTheMeasurements) {
  const HardwareFile truth = h200();
  const measurements::Measurements measurements = read(measured(truth, points()));
  HardwareFile begin = h200();
  const double factors[] = {1.25, 0.8, 0.9, 1.15};
  int number = 0;
  for (const Stage& stage : stages()) {
    for (const Parameter& parameter : stage.parameters) {
      const auto value = begin.number(parameter.path);
      if (!value || parameter.path == "dma.peer_concurrency") continue;
      const double high = parameter.below.empty() ? parameter.high : *begin.number(parameter.below);
      begin.set(parameter.path, std::clamp(*value * factors[number++ % 4], parameter.low, high));
    }
  }
  begin.set("dma.peer_concurrency", 3);
  config::Diagnostics diagnostics;
  const auto result = calibrate(measurements, begin, diagnostics);
  ASSERT_TRUE(result) << diagnostics.str();
  for (const measurements::Curve& curve : result->curves) {
    EXPECT_LT(curve.mean_error(), 0.01) << curve.benchmark << " " << curve.metric;
    EXPECT_LT(std::abs(curve.worst().error()), 0.03) << curve.benchmark << " " << curve.metric;
  }
  int found = 0;
  for (const Change& change : result->changes) {
    if (!change.residual) continue;
    ++found;
    const double wanted = *truth.number(change.path);
    // Growth and exponent can compensate each other if there are few points.
    const double within = change.path.starts_with("hbm.latency_") ? 0.1 : 0.05;
    EXPECT_NEAR(*result->hardware.number(change.path) / wanted, 1, within) << change.path;
  }
  EXPECT_GE(found, 18) << report::write_text(document_of(measurements, *result));
  // The result is a valid file and names its sources.
  EXPECT_TRUE(
      HardwareFile::load_text(support::source_dir() + "/configs/hardware/new", result->hardware.yaml(), diagnostics))
      << diagnostics.str();
  EXPECT_THAT(result->hardware.yaml(), HasSubstr("Moire calibration, 4x NVIDIA H200, 2026-11-21, driver 580"));
}

// Returns all benchmarks. Each simulated value differs by a varying part of up to 1e-9, as with another solver.
std::vector<microbench::Benchmark> with_other_digits() {
  std::vector<microbench::Benchmark> out = microbench::all();
  for (microbench::Benchmark& benchmark : out) {
    if (!benchmark.run) continue;
    benchmark.run = [run = benchmark.run](const auto& system, const auto& parameters) {
      microbench::Values values = run(system, parameters);
      for (auto& [metric, value] : values) {
        const auto hash = std::bit_cast<std::uint64_t>(value) * 0x9e3779b97f4a7c15;
        value *= 1 + 1e-9 * (static_cast<double>(hash >> 32) / 0x80000000p0 - 1);
      }
      return values;
    };
  }
  return out;
}

void expect_same_digits(const measurements::Measurements& measurements, const Options& options) {
  config::Diagnostics diagnostics;
  const auto one = calibrate(measurements, h200(), diagnostics, options);
  const auto other = calibrate(measurements, h200(), diagnostics, options, with_other_digits());
  ASSERT_TRUE(one && other) << diagnostics.str();
  ASSERT_EQ(one->changes.size(), other->changes.size());
  for (std::size_t i = 0; i < one->changes.size(); ++i) {
    const Change& change = one->changes[i];
    EXPECT_EQ(change.path, other->changes[i].path);
    if (!change.residual) continue;
    // The fourth of four digits may differ by one.
    EXPECT_NEAR(*other->hardware.number(change.path) / *one->hardware.number(change.path), 1, 1.001e-3) << change.path;
    EXPECT_NEAR(*other->changes[i].residual, *change.residual, 1e-4) << change.path;
  }
}

TEST(Calibrate, NinthDigitsDecideNothing) {
  std::vector<std::pair<std::string, std::string>> few = points();
  few.erase(std::remove_if(few.begin(), few.end(),
                           [](const auto& point) {
                             return !point.first.starts_with("hbm_") && point.first != "gather" &&
                                    point.first != "chase" && !point.first.starts_with("copy_");
                           }),
            few.end());
  expect_same_digits(read(measured(h200(), few, 0.03)), {.passes = 1});
}

TEST(Calibrate, NinthDigitsDecideNothingOfTheH200) {
  if (std::getenv("MOIRE_SLOW_TESTS") == nullptr) GTEST_SKIP() << "takes minutes; MOIRE_SLOW_TESTS=1 runs it";
  config::Diagnostics diagnostics;
  const std::string traces = support::source_dir() + "/traces/";
  const auto measurements =
      measurements::load_joined({traces + "h200x4/h200x4.measurements.csv", traces + "h200x2/h200x2.measurements.csv",
                                 traces + "h200x2/gather_length.measurements.csv"},
                                diagnostics);
  ASSERT_TRUE(measurements) << diagnostics.str();
  expect_same_digits(*measurements, {});
}

TEST(Calibrate, WhatNothingMeasuredStays) {
  config::Diagnostics diagnostics;
  const measurements::Measurements measurements = read("launch,,host_call,3,us,1,3,3\n");
  const auto result = calibrate(measurements, h200(), diagnostics);
  ASSERT_TRUE(result) << diagnostics.str();
  ASSERT_EQ(result->changes.size(), 1U);
  EXPECT_EQ(result->changes[0].path, "host.enqueue");
  EXPECT_EQ(result->changes[0].after, "3 us");
  HardwareFile expected = h200();
  const std::string before = expected.yaml();
  const std::string after = result->hardware.yaml();
  EXPECT_THAT(after, HasSubstr("  enqueue: {value: 3 us, source: fitted_enqueue, residual: 0.0 %}\n"));
  // Except for sources, all other lines are unchanged.
  const auto values = [](const std::string& yaml) {
    std::string text = yaml.substr(yaml.find("\nname:"));
    const std::size_t at = text.find("\n  enqueue:") + 1;
    return text.erase(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(values(before), values(after));
}

TEST(Calibrate, SourcesNameTheFilesOfTheirPoints) {
  config::Diagnostics diagnostics;
  measurements::Measurements measurements =
      read("launch,,host_call,3,us,1,3,3\nlaunch,wgs=1,queue_gap,1500,ns,1,1500,1500\n");
  const auto later =
      measurements::read_measurements("dir/later.measurements.csv",
                                      "# moire-measurements 1\n# gpu: NVIDIA H200\n# gpus: 2\n# driver: 590\n"
                                      "# date: 2026-12-01T10:00:00Z\n# command: made up\n"
                                      "benchmark,parameters,metric,value,unit,repetitions,low,high\n"
                                      "launch,wgs=132,queue_gap,1500,ns,1,1500,1500\n"
                                      "flag,,round_trip,1264,ns,1,1264,1264\n",
                                      diagnostics);
  ASSERT_TRUE(later) << diagnostics.str();
  join(measurements, *later, diagnostics);
  const auto result = calibrate(measurements, h200(), diagnostics);
  ASSERT_TRUE(result) << diagnostics.str();
  std::string text = result->hardware.yaml();  // long texts are folded into lines of 120 characters
  for (std::size_t at = 0; (at = text.find("\n    ", at)) != std::string::npos;) text.replace(at, 5, " ");
  const std::string first = "4x NVIDIA H200, 2026-11-21, driver 580, made.measurements.csv";
  const std::string second = "2x NVIDIA H200, 2026-12-01, driver 590, later.measurements.csv";
  EXPECT_THAT(text, HasSubstr("fitted_enqueue: >- Moire calibration, " + first + ": "));
  EXPECT_THAT(text, HasSubstr("fitted_peer_flag: >- Moire calibration, " + second + ": "));
  EXPECT_THAT(text, HasSubstr("fitted_queue_gap: >- Moire calibration, " + first + " and " + second + ": "));
}

TEST(Calibrate, ReadsDevicePropertiesOff) {
  config::Diagnostics diagnostics;
  const measurements::Measurements measurements = read(
      "property,,threads_per_sm,1536,1,1,1536,1536\nproperty,,clock,1755,MHz,1,1755,1755\n"
      "property,,link_rate,26.562,GB/s,1,26.562,26.562\n");
  const auto result = calibrate(measurements, h200(), diagnostics);
  ASSERT_TRUE(result) << diagnostics.str();
  EXPECT_EQ(result->hardware.text("compute.threads_per_cu"), "1536");
  EXPECT_EQ(result->hardware.text("compute.clock"), "1.755 GHz");
  EXPECT_EQ(result->hardware.text("port.link_bandwidth"), "26.5625 GB/s");  // 26.562 confirms this value of the file
}

TEST(Calibrate, ReadsGroupsOffTheMap) {
  HardwareFile truth = h200();
  truth.state_groups({{4, 0}, {6, 2}, {6, 2}}, truth.add_source("map", "x"));
  std::vector<std::pair<std::string, std::string>> placements;
  for (const int cluster : {1, 2, 4}) {
    for (const int blockers : {0, 1, 2, 4, 6, 8}) {
      placements.emplace_back("dispatch_cluster", fmt::format("cluster={} blockers={}", cluster, blockers));
    }
    placements.emplace_back("cluster_limit", fmt::format("cluster={}", cluster));
  }
  std::string rows = measured(truth, placements);
  rows += "property,,sms,16,1,1,16,16\ngpc,gpc=0,sms,4,1,1,4,4\ngpc,gpc=1,sms,6,1,1,6,6\ngpc,gpc=2,sms,6,1,1,6,6\n";
  const int group[] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2};
  const int order[] = {4, 7, 10, 13, 0, 2, 5, 8, 11, 14, 1, 3, 6, 9, 12, 15};
  for (int sm = 0; sm < 16; ++sm) {
    rows += row("sm", fmt::format("sm={}", sm), "gpc", group[sm], "1");
    rows += row("sm", fmt::format("sm={}", sm), "blocker_order", order[sm], "1");
  }
  config::Diagnostics diagnostics;
  const measurements::Measurements measurements = read(rows);
  const auto result = calibrate(measurements, h200(), diagnostics);
  ASSERT_TRUE(result) << diagnostics.str();
  const auto gpu = result->hardware.spec(diagnostics);
  ASSERT_EQ(gpu->compute.groups.size(), 2U);
  EXPECT_EQ(gpu->compute.groups[0].cus, 4);
  EXPECT_EQ(gpu->compute.groups[0].filled_first, 0);
  EXPECT_EQ(gpu->compute.groups[1].cus, 6);
  EXPECT_EQ(gpu->compute.groups[1].count, 2);
  EXPECT_EQ(gpu->compute.groups[1].filled_first, 2);
  for (const measurements::Curve& curve : result->curves) EXPECT_EQ(curve.mean_error(), 0) << curve.benchmark;
}

TEST(Calibrate, AnotherGpuGetsItsOwnName) {
  config::Diagnostics diagnostics;
  measurements::Measurements measurements = read("dispatch,wgs_per_sm=1,slot_refill,250,ns,1,250,250\n");
  measurements.gpu = "NVIDIA B200";
  const auto result = calibrate(measurements, h200(), diagnostics);
  ASSERT_TRUE(result) << diagnostics.str();
  EXPECT_THAT(result->hardware.yaml(), HasSubstr("\nname: NVIDIA B200\n"));
  EXPECT_THAT(result->hardware.yaml(), ::testing::StartsWith("# NVIDIA B200: calibrated; values that were not "
                                                             "measured are those of NVIDIA H200 SXM 141 GB.\n"));
}

std::string refusal(const std::string& rows) {
  const measurements::Measurements measurements = read(rows);
  config::Diagnostics diagnostics;
  EXPECT_FALSE(calibrate(measurements, h200(), diagnostics));
  return diagnostics.str();
}

TEST(Contradictions, AreRefusedAtTheirRow) {
  const std::string sms = "property,,sms,132,1,1,132,132\n";
  EXPECT_EQ(refusal("peer_store,wgs=132 peers=1 senders=1 chunk_bytes=0,bandwidth,490,GB/s,1,490,490\n"),
            "made.measurements.csv:8:1: peer_store chunk_bytes=0 peers=1 senders=1 wgs=132: 490 GB/s is above the "
            "physical rate of the links, 478.125 GB/s; payload cannot exceed links x link rate in one direction; see "
            "port.links and port.link_bandwidth\n");
  EXPECT_THAT(refusal("hbm_read,wgs=132 wgs_per_sm=1 in_flight_bytes=32768,bandwidth,4900,GB/s,1,4900,4900\n"),
              HasSubstr("4900 GB/s is above the peak of the memory, 4800 GB/s"));
  EXPECT_THAT(refusal("hbm_copy,wgs=132 wgs_per_sm=1 in_flight_bytes=32768,bandwidth,2500,GB/s,1,2500,2500\n"),
              HasSubstr("5000 GB/s is above the peak of the memory"));
  EXPECT_THAT(
      refusal("copy_single,bytes=16777216 remote=1,time,30,us,1,30,30\n"),
      HasSubstr(
          "is 559.241 GB/s, above the physical rate of the links, 478.125 GB/s; the time must be at least 35.09 us"));
  EXPECT_THAT(refusal("copy_fan_out,bytes=16777216 peers=3,time,101,us,1,101,101\n"), HasSubstr("498.333 GB/s, above"));
  EXPECT_THAT(refusal("chase,footprint_bytes=1048576,latency,300,ns,1,300,300\n"
                      "chase,footprint_bytes=1073741824,latency,250,ns,1,250,250\n"),
              HasSubstr(":9:1: chase footprint_bytes=1073741824: a load from the memory takes 250 ns, less than the "
                        "300 ns of a load from the L2 (line 8)"));
  EXPECT_THAT(
      refusal("l2_read,footprint_bytes=1048576 wgs=132 wgs_per_sm=1 in_flight_bytes=8192,bandwidth,2000,GB/s,1,"
              "2000,2000\nhbm_read,wgs=132 wgs_per_sm=1 in_flight_bytes=32768,bandwidth,4000,GB/s,1,4000,4000\n"),
      HasSubstr(":8:1: l2_read"));
  EXPECT_THAT(refusal(sms + "gpc,gpc=0,sms,100,1,1,100,100\n"),
              HasSubstr(":9:1: the gpc rows have 100 SMs in all, but the device has 132"));
  EXPECT_THAT(refusal(sms + "dispatch,wgs_per_sm=2,first_wave_wgs,265,1,1,265,265\n"),
              HasSubstr("first_wave_wgs of 265 do not fit; at most 264"));
  EXPECT_THAT(refusal(sms + "dispatch_cluster,cluster=2 blockers=4,first_wave_wgs,130,1,1,130,130\n"),
              HasSubstr("at most 128"));
  EXPECT_THAT(refusal(sms + "cluster_limit,cluster=16,clusters,9,1,1,9,9\n"), HasSubstr("at most 8"));
  EXPECT_THAT(refusal("chase,footprint_bytes=1048576,latency,200,ns,1,200,200\n"
                      "hbm_read,wgs=1 wgs_per_sm=1 in_flight_bytes=4096,bandwidth_per_wg,30,GB/s,1,30,30\n"),
              HasSubstr("by Little's law, 4096 B take at least 200 ns"));
  EXPECT_THAT(refusal("hbm_write,wgs=4 wgs_per_sm=1,bandwidth,100,GB/s,1,100,100\n"
                      "hbm_write,wgs=4 wgs_per_sm=1,bandwidth_per_wg,110,GB/s,1,110,110\n"),
              HasSubstr("above the total of line 8"));
  EXPECT_THAT(refusal("matrix_rate,sms=132,flops_per_sm,8500,GFLOP/s,1,8500,8500\n"),
              HasSubstr("above 4096 operations a clock, 8110.08 GFLOP/s"));
  EXPECT_THAT(refusal("flag,,round_trip,1000,ns,1,1000,1000\nflag,,round_trip_fastest,1100,ns,1,1100,1100\n"),
              HasSubstr("round_trip_fastest 1100 is above round_trip 1000 of line 8"));
  EXPECT_THAT(refusal("launch,,host_call,0,us,1,0,0\n"), HasSubstr("host_call is 0 us; remove"));
  EXPECT_THAT(refusal("cluster_limit,cluster=2,clusters,1.5,1,1,1.5,1.5\n"), HasSubstr("a count is an integer"));
  EXPECT_THAT(refusal("peer_fan_in,wgs=32 senders=5,bandwidth,300,GB/s,1,300,300\n"), HasSubstr("senders=5 on 4 GPUs"));
  EXPECT_THAT(refusal("dispatch,wgs_per_sm=0,slot_refill,300,ns,1,300,300\n"), HasSubstr("wgs_per_sm is 0"));
  EXPECT_THAT(refusal("hbm_read,wgs=1e9 wgs_per_sm=1 in_flight_bytes=4096,bandwidth,300,GB/s,1,300,300\n"),
              HasSubstr("wgs is 1000000000"));
}

TEST(Contradictions, RealMeasurementsHaveNone) {
  config::Diagnostics diagnostics;
  const auto folder = std::filesystem::path(support::source_dir()) / "traces/h200x4";
  const auto measurements = measurements::load_joined(
      {folder / "h200x4.measurements.csv", folder / "../h200x2/h200x2.measurements.csv"}, diagnostics);
  ASSERT_TRUE(measurements) << diagnostics.str();
  find_contradictions(*measurements, h200(), diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
}

}  // namespace
}  // namespace moire::calibrate
