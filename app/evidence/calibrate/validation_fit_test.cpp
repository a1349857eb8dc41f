// Simulates cases from a known profile and tests that the fit finds its values.
#include "app/evidence/calibrate/validation_fit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/study/study.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "sim/config/config.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::calibrate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path source = support::source_dir();
const std::string nccl = (source / "configs/libraries/nccl.yaml").string();

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Each test has its own folder.
class ValidationFitTest : public ::testing::Test {
 protected:
  ValidationFitTest() : folder_(fs::temp_directory_path() / fmt::format("moire_validation_fit_{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~ValidationFitTest() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  // Returns the simulated times of all-reduces of `kib` KiB per rank on 4 H200, with `changes` of the profile.
  std::vector<double> simulated(const std::vector<int>& kib, const std::vector<std::string>& changes) const {
    std::vector<double> times;
    for (const int one : kib) {
      config::Diagnostics diagnostics;
      std::vector<std::string> sets = {fmt::format("program.queues.comm.0.all_reduce.bytes_per_rank={} KiB", one)};
      for (const std::string& change : changes) sets.push_back("system.library." + change);
      study::Preparer preparer;
      auto scenario = study::load_scenario(folder_ / "scenario.yaml", sets, diagnostics);
      const auto prepared = study::prepare_runs(std::move(*scenario), preparer, diagnostics);
      EXPECT_TRUE(prepared && diagnostics.ok()) << diagnostics.str();
      const auto results = study::run_all(
          {&*prepared}, 1, [](std::size_t) {}, [] {});
      times.push_back(study::microseconds(results.front().time));
    }
    return times;
  }

  void write_scenario() const {
    write("scenario.yaml", fmt::format("description: one\nsystem: {}\nprogram: {{queues: {{comm: [{{all_reduce: "
                                       "{{bytes_per_rank: 1 KiB, dtype: fp32, algorithm: ring, protocol: ll}}}}]}}}}\n",
                                       (source / "configs/systems/4xh200.yaml").string()));
  }

  fs::path write_validation(const std::vector<int>& kib, const std::vector<double>& times,
                            const std::string& fit) const {
    std::string rows = "# source: made up\nkib,role,us\n";
    for (std::size_t i = 0; i < kib.size(); ++i) rows += fmt::format("{},fit,{}\n", kib[i], times[i]);
    rows += "65536,held_out,1\n";  // no fit may use this row; its time would spoil a fit
    write("table.csv", rows);
    const std::string group =
        "  - name: {0}\n    scenario: scenario.yaml\n    measured: {{file: table.csv, value: us, unit: us}}\n"
        "    rows: {{role: {0}}}\n    case: kib\n    set: {{program.queues.comm.0.all_reduce.bytes_per_rank: $kib "
        "KiB}}\n";
    return write("made.yaml", "description: made up\ngroups:\n" + fmt::format(fmt::runtime(group), "fit") +
                                  fmt::format(fmt::runtime(group), "held_out") + "fit:\n  - " + fit + "\n");
  }

  const fs::path folder_;
};

constexpr const char* both =
    "{name: ll, groups: [fit], keys: {channels.ll.step_overhead: 0.4 us, channels.ll.batch_pause: 0.2 us}}";

TEST_F(ValidationFitTest, FindsTheValuesThatMadeTheCases) {
  write_scenario();
  const std::vector<int> kib = {8, 512};
  const auto times = simulated(kib, {"channels.ll.step_overhead=1.25 us", "channels.ll.batch_pause=70 ns"});
  const fs::path validation = write_validation(kib, times, both);
  config::Diagnostics diagnostics;
  const auto found = fit_to_validation(validation, nccl, 2, diagnostics);
  ASSERT_TRUE(found) << diagnostics.str();

  const auto tree = config::load_text("fitted.yaml", found->yaml, {}, diagnostics);
  ASSERT_TRUE(tree) << diagnostics.str();
  const auto library = config::parse<libraries::LibrarySpec>(*tree, diagnostics);
  ASSERT_TRUE(library) << diagnostics.str();
  EXPECT_NEAR(library->channels->ll->step_overhead.us(), 1.25, 0.005);
  EXPECT_NEAR(library->channels->ll->batch_pause.us(), 0.07, 0.002);
  ASSERT_EQ(found->cases.size(), 2);  // without the held-out case
  for (const FittedCase& one : found->cases) EXPECT_NEAR(one.after / one.measured, 1, 0.001) << one.name;
  EXPECT_GT(std::abs(found->cases[0].before / found->cases[0].measured - 1), 0.01);
  EXPECT_THAT(found->yaml,
              HasSubstr("fitted_ll: \"Moire calibration, made.yaml: fitted to 2 cases of table.csv (8; 512)"));
  EXPECT_TRUE(found->at_bound.empty());

  // A second fit of the result, one run at a time, gives the same bytes; other sections are unchanged.
  const fs::path again = write("again.yaml", found->yaml);
  const auto second = fit_to_validation(validation, again, 1, diagnostics);
  ASSERT_TRUE(second) << diagnostics.str();
  EXPECT_EQ(second->yaml, found->yaml);
  const std::string before = text_of(nccl);
  EXPECT_EQ(before.substr(0, before.find("\nsources:")), found->yaml.substr(0, found->yaml.find("\nsources:")));
  EXPECT_EQ(before.substr(before.find("\n  ll128:")), found->yaml.substr(found->yaml.find("\n  ll128:")));
}

TEST_F(ValidationFitTest, WritesAValueThatTheProfileLeavesOut) {
  write_scenario();
  std::string text = text_of(nccl);
  const std::size_t line = text.find("    batch_pause: ", text.find("\n  ll:"));
  ASSERT_NE(line, std::string::npos);
  text.erase(line, text.find('\n', line) + 1 - line);
  const fs::path profile = write("short.yaml", text);
  config::Diagnostics diagnostics;
  const fs::path pause =
      write_validation({512}, {100}, "{name: pause, groups: [fit], keys: {channels.ll.batch_pause: 0.4 us}}");
  const auto found = fit_to_validation(pause, profile, 1, diagnostics);
  ASSERT_TRUE(found) << diagnostics.str();
  EXPECT_EQ(found->changes.front().before, "");
  EXPECT_NEAR(found->cases.front().after, 100, 0.1);
  const std::size_t pause_at = found->yaml.find("    batch_pause:");
  ASSERT_NE(pause_at, std::string::npos);
  EXPECT_LT(pause_at, found->yaml.find("    step_overhead:", found->yaml.find("\n  ll:")));
}

TEST_F(ValidationFitTest, AValueThatMovesNothingIsRefused) {
  write_scenario();
  const fs::path validation =
      write_validation({8}, {30}, "{name: ll, groups: [fit], keys: {channels.simple.step_overhead: 2 us}}");
  config::Diagnostics diagnostics;
  EXPECT_FALSE(fit_to_validation(validation, nccl, 1, diagnostics));
  EXPECT_THAT(diagnostics.str(), HasSubstr("no case of fit 'll' changes with 'channels.simple.step_overhead'"));
}

TEST_F(ValidationFitTest, AValueStopsAtItsBound) {
  write_scenario();
  const fs::path validation =
      write_validation({8}, {1e6}, "{name: ll, groups: [fit], keys: {channels.ll.step_overhead: 0.4 us}}");
  config::Diagnostics diagnostics;
  const auto found = fit_to_validation(validation, nccl, 1, diagnostics);
  ASSERT_TRUE(found) << diagnostics.str();
  EXPECT_THAT(found->at_bound, ElementsAre("channels.ll.step_overhead"));
}

}  // namespace
}  // namespace moire::calibrate
