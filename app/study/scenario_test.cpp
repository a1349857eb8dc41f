#include "app/study/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/study/prepare.hpp"
#include "app/study/study.hpp"

namespace moire::study {
namespace {

using testing::ElementsAre;

struct Read {
  std::optional<Scenario> scenario;
  config::Diagnostics diagnostics;
};

Read read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Read out;
  auto overrides = config::parse_sets(sets, out.diagnostics);
  auto tree = config::load_text("s.yaml", text, overrides, out.diagnostics);
  if (tree) out.scenario = read_scenario(std::move(*tree), std::move(overrides), out.diagnostics);
  return out;
}

constexpr const char* swept = R"(description: two axes, two variants
system: {nodes: 1}
program: {size: 1}
variants:
  base: {}
  other: {program.size: 7}
sweep:
  system.nodes: [2, 4, 8]
  place:
    near: {system.distance: 1}
    far: {system.distance: 9, program.size: 3}
compare: {to: base, summary: [mean]}
)";

std::vector<std::string> labels(const Scenario& scenario) {
  std::vector<std::string> out;
  for (std::size_t n = 0; n < scenario.runs(); ++n) out.push_back(run_of(scenario, n).label());
  return out;
}

std::vector<std::string> parameters(const Scenario& scenario, std::size_t number) {
  std::vector<std::string> out;
  for (const auto& [path, value] : parameters_of(scenario, run_of(scenario, number)))
    out.push_back(path + "=" + value.text);
  return out;
}

TEST(Scenario, CrossesAxesAndRunsEveryVariantAtEveryPoint) {
  const Read got = read(swept);
  ASSERT_TRUE(got.diagnostics.ok()) << got.diagnostics.str();
  EXPECT_EQ(got.scenario->points(), 6);
  EXPECT_EQ(got.scenario->compare_to, 0);
  EXPECT_THAT(labels(*got.scenario), ElementsAre("2, near, base", "2, near, other", "2, far, base", "2, far, other",
                                                 "4, near, base", "4, near, other", "4, far, base", "4, far, other",
                                                 "8, near, base", "8, near, other", "8, far, base", "8, far, other"));
}

TEST(Scenario, VariantsChangeAfterAxesAndSetsAfterBoth) {
  const Read got = read(swept, {"program.size=5"});
  ASSERT_TRUE(got.diagnostics.ok()) << got.diagnostics.str();
  EXPECT_THAT(parameters(*got.scenario, 2), ElementsAre("system.nodes=2", "system.distance=9", "program.size=5"));
  const Read without = read(swept);
  EXPECT_THAT(parameters(*without.scenario, 3), ElementsAre("system.nodes=2", "system.distance=9", "program.size=7"));
}

TEST(Scenario, SetsChangeTheStudyItselfToo) {
  const Read got = read(swept, {"sweep={system.nodes: [16]}", "compare.to=other"});
  ASSERT_TRUE(got.diagnostics.ok()) << got.diagnostics.str();
  EXPECT_THAT(labels(*got.scenario), ElementsAre("16, base", "16, other"));
  EXPECT_EQ(got.scenario->compare_to, 1);
  EXPECT_THAT(parameters(*got.scenario, 0), ElementsAre("system.nodes=16"));
}

TEST(Scenario, OneRunWithoutVariantsAndAxes) {
  const Read got = read("description: x\nsystem: {}\nprogram: {}\n");
  ASSERT_TRUE(got.diagnostics.ok()) << got.diagnostics.str();
  EXPECT_THAT(labels(*got.scenario), ElementsAre(""));
}

TEST(Scenario, TimelinesOfSeveralRunsGetTheirLabels) {
  const Read got = read(swept);
  EXPECT_EQ(timeline_path("out/t.pftrace", *got.scenario, run_of(*got.scenario, 3)), "out/t.2_far_other.pftrace");
  const Read one = read("description: x\nsystem: {}\nprogram: {}\n");
  EXPECT_EQ(timeline_path("out/t.pftrace", *one.scenario, run_of(*one.scenario, 0)), "out/t.pftrace");
}

TEST(Comparison, IsMadeWithinAPointAndSummarisedOverPoints) {
  const Read got = read(
      "description: x\nsystem: {}\nprogram: {}\nvariants: {a: {}, b: {}}\n"
      "sweep: {system.n: [1, 2]}\ncompare: {to: a, summary: [mean, max]}\n");
  ASSERT_TRUE(got.diagnostics.ok()) << got.diagnostics.str();
  StudyResult result;
  for (const double us : {100.0, 75.0, 200.0, 190.0}) {
    result.runs.emplace_back();
    result.runs.back().time = Time::from_us(us);
  }
  compare(*got.scenario, result);
  ASSERT_EQ(result.comparison.size(), 4);
  EXPECT_DOUBLE_EQ(result.comparison[0].reduction_percent, 0);
  EXPECT_DOUBLE_EQ(result.comparison[1].reduction_percent, 25);
  EXPECT_DOUBLE_EQ(result.comparison[3].reduction_percent, 5);
  EXPECT_DOUBLE_EQ(result.comparison[1].speedup, 100.0 / 75);
  ASSERT_EQ(result.summary.size(), 2);
  EXPECT_DOUBLE_EQ(result.summary[0].reduction_percent, 15);
  EXPECT_DOUBLE_EQ(result.summary[0].speedup, std::sqrt(100.0 / 75 * 200 / 190));
  EXPECT_DOUBLE_EQ(result.summary[1].reduction_percent, 25);
}

}  // namespace
}  // namespace moire::study
