#include "app/evidence/calibrate/hardware_file.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/evidence/calibrate/stages.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::calibrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path hardware = std::filesystem::path(support::source_dir()) / "configs/hardware";

HardwareFile load(const std::string& file) {
  config::Diagnostics diagnostics;
  auto loaded = HardwareFile::load((hardware / file).string(), diagnostics);
  EXPECT_TRUE(loaded) << diagnostics.str();
  return loaded.value();
}

// Returns every value with its source and residual.
std::string content(const std::string& name, const std::string& yaml) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text((hardware / name).string(), yaml, {}, diagnostics);
  std::vector<config::Provenance> all;
  EXPECT_TRUE(root && libraries::read_gpu(*root, diagnostics, &all)) << diagnostics.str();
  std::string out;
  for (const auto& p : all) {
    out += p.path + "=" + p.value + "|" + p.source + "|" + std::to_string(p.residual.value_or(-1)) + "\n";
  }
  return out;
}

TEST(HardwareFile, WritesEveryShippedGpuAsItReadIt) {
  int gpus = 0;
  for (const auto& entry : std::filesystem::directory_iterator(hardware)) {
    std::ifstream in(entry.path());
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (text.find("\ncompute:") == std::string::npos) continue;
    ++gpus;
    const std::string written = load(entry.path().filename().string()).yaml();
    EXPECT_EQ(content("a", text), content("a", written)) << entry.path();
    EXPECT_EQ(written.substr(0, written.find('\n')), text.substr(0, text.find('\n')));  // the comment at the top
    config::Diagnostics diagnostics;
    EXPECT_EQ(HardwareFile::load_text((hardware / "b").string(), written, diagnostics)->yaml(), written)
        << "a second writing differs";
  }
  EXPECT_GE(gpus, 5);
}

TEST(HardwareFile, ChangesOneValueAndLeavesTheRest) {
  HardwareFile file = load("h200.yaml");
  const std::string before = content("a", file.yaml());
  const std::string key = file.add_source("fitted", "a fit: of it");
  file.state("hbm.unloaded_latency", 391'234.4, 4, key, 0.0131);
  EXPECT_EQ(*file.number("hbm.unloaded_latency"), 391'200);
  EXPECT_THAT(file.yaml(), HasSubstr("  unloaded_latency: {value: 391.2 ns, source: fitted, residual: 1.3 %}\n"));
  const std::string after = content("a", file.yaml());
  EXPECT_THAT(after, HasSubstr("hbm.unloaded_latency=391.2 ns|a fit: of it|0.013"));
  const auto without = [](std::string text) {
    const std::size_t at = text.find("hbm.unloaded_latency");
    return text.erase(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(without(before), without(after));
}

TEST(HardwareFile, SourcesThatNothingNamesGo) {
  HardwareFile file = load("h200.yaml");
  EXPECT_THAT(file.yaml(), HasSubstr("\n  fitted_queue_gap: >-\n"));
  file.state("host.queue_gap", 2e6, 4, file.add_source("fitted", "x"), std::nullopt);
  EXPECT_THAT(file.yaml(), Not(HasSubstr("\n  fitted_queue_gap: >-\n")));
}

TEST(HardwareFile, ASourceThatIsStillNamedIsNotOverwritten) {
  HardwareFile file = load("h200.yaml");
  EXPECT_EQ(file.add_source("datasheet", "another one"), "datasheet_2");
  EXPECT_EQ(file.add_source("new", "a text"), "new");
  EXPECT_EQ(file.add_source("new", "its next text"), "new");  // no value uses this source yet
}

TEST(HardwareFile, AddsAKeyThatWasLeftOutInTheOrderOfTheSpec) {
  HardwareFile file = load("mi210.yaml");
  const bool was = file.number("port.copy_efficiency").has_value();
  file.state("port.copy_efficiency", 0.91, 4, file.add_source("fitted", "x"), std::nullopt);
  EXPECT_THAT(file.yaml(), HasSubstr("  copy_efficiency: {value: 0.91, source: fitted}\n  store_latency:"));
  file.take_over("port.copy_efficiency", load("mi210.yaml"));
  EXPECT_EQ(file.number("port.copy_efficiency").has_value(), was);
}

TEST(HardwareFile, WritesGroups) {
  HardwareFile file = load("h200.yaml");
  file.state_groups({{8, 0}, {16, 0}, {16, 0}, {2, 2}}, file.add_source("map", "x"));
  EXPECT_THAT(file.yaml(), HasSubstr("  groups:\n"
                                     "    - {cus: {value: 8, source: map}}\n"
                                     "    - {cus: {value: 16, source: map}, count: {value: 2, source: map}}\n"
                                     "    - {cus: {value: 2, source: map}, filled_first: {value: 2, source: map}}\n"));
}

TEST(HardwareFile, ValuesKeepAllTheirDigitsWhileTheyAreFitted) {
  HardwareFile file = load("h200.yaml");
  const double value = 4.123456789e12;
  file.set("hbm.bandwidth", value);
  config::Diagnostics diagnostics;
  EXPECT_EQ(file.spec(diagnostics)->hbm.bandwidth.value, value);
  EXPECT_EQ(*file.number("hbm.bandwidth"), value);
}

TEST(Tables, NameParametersThatThereAre) {
  for (const Reading& reading : readings()) EXPECT_TRUE(HardwareFile::field(reading.path)) << reading.path;
  for (const Stage& stage : stages()) {
    EXPECT_FALSE(stage.about.empty());
    for (const Parameter& parameter : stage.parameters) {
      EXPECT_TRUE(HardwareFile::field(parameter.path)) << parameter.path;
      EXPECT_LT(parameter.low, parameter.high);
    }
  }
}

TEST(Tables, FitPointsThatTheCollectorTakes) {
  for (const Stage& stage : stages()) {
    for (const Selection& selection : stage.selections) {
      const auto* benchmark = microbench::find(selection.benchmark);
      ASSERT_TRUE(benchmark) << selection.benchmark;
      EXPECT_TRUE(std::any_of(benchmark->metrics.begin(), benchmark->metrics.end(),
                              [&](const auto& metric) { return metric.name == selection.metric; }))
          << selection.benchmark << " " << selection.metric;
    }
  }
}

}  // namespace
}  // namespace moire::calibrate
