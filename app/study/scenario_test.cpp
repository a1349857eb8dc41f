#include "app/study/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/study/prepare.hpp"
#include "app/study/study.hpp"

namespace moire::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  std::optional<Scenario> scenario;
  config::Diagnostics diagnostics;
};

Read read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Read out;
  auto overrides = config::parse_sets(sets, out.diagnostics);
  auto tree = config::load_text("s.yaml", text, overrides, out.diagnostics);
  if (tree) out.scenario = read_scenario(std::move(*tree), std::move(overrides), out.diagnostics);
  if (out.scenario) check_overwrites(*out.scenario, out.diagnostics);
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
    far: {system.distance: 9}
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

TEST(Scenario, ParametersAreThoseOfAxesThenVariantThenSets) {
  const Read got = read(swept, {"program.rate=5"});
  ASSERT_TRUE(got.diagnostics.ok()) << got.diagnostics.str();
  EXPECT_THAT(parameters(*got.scenario, 3),
              ElementsAre("system.nodes=2", "system.distance=9", "program.size=7", "program.rate=5"));
}

// Rows of the results are labelled with the values of axes and --set. Changes that overwrite such a value are refused,
// because the label would be wrong.

std::string overwritten(const std::string& changes, const std::vector<std::string>& sets = {}) {
  return read("description: x\nsystem: {nodes: 1, nic: {speed: 1, rate: 2}}\nprogram: {queues: {a: [{x: {n: 1}}]}}\n" +
                  changes,
              sets)
      .diagnostics.str();
}

TEST(Scenario, AVariantMayNotOverwriteAnAxis) {
  EXPECT_EQ(overwritten("variants: {base: {}, fast: {system.nic.speed: 8}}\nsweep: {system.nic.speed: [1, 2, 4]}\n"),
            "s.yaml:4:47: variant 'fast' overwrites 'system.nic.speed', which axis 'system.nic.speed' sets; remove one "
            "of them, because a row would be labelled with a value that it does not have\n");
  EXPECT_THAT(overwritten("variants: {fast: {system: {nodes: 1}}}\nsweep: {system.nic.speed: [1, 2]}\n"),
              HasSubstr("variant 'fast' overwrites 'system.nic.speed', which axis"));
  EXPECT_THAT(overwritten("variants: {fast: {system.nic.speed: 3}}\nsweep: {system.nic: [{speed: 1, rate: 1}]}\n"),
              HasSubstr("variant 'fast' overwrites 'system.nic.speed', which axis 'system.nic' sets"));
  EXPECT_THAT(overwritten("variants: {fast: {program.queues.a.operations.0.x.n: 3}}\n"
                          "sweep: {program.queues.a.0.x.n: [1, 2]}\n"),
              HasSubstr("variant 'fast' overwrites 'program.queues.a.0.x.n'"));
  EXPECT_THAT(overwritten("sweep: {system.nodes: [1, 2], machine: {small: {}, large: {system.nodes: 9}}}\n"),
              HasSubstr("axis 'machine' overwrites 'system.nodes', which axis 'system.nodes' sets"));
  EXPECT_THAT(
      overwritten("variants: {fast: {system.nodes: 3, system: {nodes: 4}}}\n"),
      HasSubstr(
          "variant 'fast' overwrites 'system.nodes', which an earlier change of the same key sets; write this one"));
}

TEST(Scenario, NothingMayOverwriteASet) {
  EXPECT_EQ(overwritten("variants: {base: {}, fast: {system.nic.speed: 8}}\n", {"system.nic.speed=4"}),
            "s.yaml:4:47: variant 'fast' overwrites 'system.nic.speed', which '--set system.nic.speed=4' sets; remove "
            "one of them, because a row would be labelled with a value that it does not have\n");
  EXPECT_THAT(
      overwritten("sweep: {system.nodes: [1, 2]}\n", {"system.nodes=4"}),
      HasSubstr("s.yaml:4:24: axis 'system.nodes' overwrites 'system.nodes', which '--set system.nodes=4' sets"));
  EXPECT_THAT(overwritten("variants: {fast: {system.nic.speed: 3}}\n", {"system.nic={speed: 1}"}),
              HasSubstr("overwrites 'system.nic.speed'"));
}

TEST(Scenario, WhatAddsToAChangeOverwritesNothing) {
  EXPECT_EQ(overwritten("variants: {fast: {system.nic.speed: 3}}\nsweep: {system.nic.rate: [1, 2]}\n"), "");
  EXPECT_EQ(overwritten("variants: {fast: {system.nic.other: 3}}\nsweep: {system.nic: [{speed: 1}, {speed: 2}]}\n"),
            "");
  EXPECT_EQ(overwritten("variants: {fast: {system: {nodes: 2, nic: {}}}}\n", {"system.nic.speed=3"}), "");
  EXPECT_EQ(overwritten("sweep: {system: [{nodes: 1}], machine: {a: {system.nic: {speed: 1}}}}\n"), "");
}

TEST(Scenario, ASetOfNullRemovesAVariant) {
  const std::string text =
      "description: x\nsystem: {}\nprogram: {}\nvariants: {base: {}, empty: , other: {program.n: 1}}\n";
  const Read less = read(text, {"variants.other=null", "variants.empty=null"});
  ASSERT_TRUE(less.diagnostics.ok()) << less.diagnostics.str();
  EXPECT_THAT(labels(*less.scenario), ElementsAre("base"));
  EXPECT_THAT(labels(*read(text).scenario), ElementsAre("base", "empty", "other"));
  EXPECT_EQ(read(text, {"variants.othr=null"}).diagnostics.str(),
            "--set variants.othr=null: there is no variant 'othr' to remove; did you mean 'other'?\n");
  EXPECT_THAT(read(text + "compare: {to: other}\n", {"variants.other=null"}).diagnostics.str(),
              HasSubstr("'compare.to' does not name a variant: 'other'"));
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
  EXPECT_EQ(timeline_paths("out/t.pftrace", *got.scenario)[3], "out/t.2_far_other.pftrace");
  const Read one = read("description: x\nsystem: {}\nprogram: {}\n");
  EXPECT_EQ(timeline_paths("out/t.pftrace", *one.scenario)[0], "out/t.pftrace");
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
  EXPECT_DOUBLE_EQ(result.comparison[0]->reduction_percent, 0);
  EXPECT_DOUBLE_EQ(result.comparison[1]->reduction_percent, 25);
  EXPECT_DOUBLE_EQ(result.comparison[3]->reduction_percent, 5);
  EXPECT_DOUBLE_EQ(result.comparison[1]->speedup, 100.0 / 75);
  ASSERT_EQ(result.summary.size(), 2);
  EXPECT_DOUBLE_EQ(result.summary[0].reduction_percent, 15);
  EXPECT_DOUBLE_EQ(result.summary[0].speedup, std::sqrt(100.0 / 75 * 200 / 190));
  EXPECT_DOUBLE_EQ(result.summary[1].reduction_percent, 25);
}

}  // namespace
}  // namespace moire::study
