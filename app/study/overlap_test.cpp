#include "app/study/overlap.hpp"

#include <gmock/gmock.h>

#include "app/study/study.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::study {
namespace {

using testing::DoubleEq;
using testing::Optional;

Time us(double t) { return Time::from_us(t); }

// This is the example of arXiv 2412.14335, which defines these metrics. Queues of 60 and 100 us take 130 us together.
// The ideal speedup is 160 / 100, and the speedup reached is 160 / 130.
TEST(OverlapMetrics, AreThePapers) {
  RunResult run;
  run.time = us(130);
  run.queues = {{"compute", 0, us(130), {}}, {"comm", 1, us(120), {}}};
  const std::vector<QueueResult> isolated = {{"compute", 0, us(100), {}}, {"comm", 1, us(60), {}}};
  const std::vector<Metric> metrics = overlap_metrics(run, isolated, nullptr);
  EXPECT_THAT(value_of(metrics, "compute_isolated_us"), Optional(DoubleEq(100)));
  EXPECT_THAT(value_of(metrics, "comm_isolated_us"), Optional(DoubleEq(60)));
  EXPECT_THAT(value_of(metrics, "serial_us"), Optional(DoubleEq(160)));
  EXPECT_THAT(value_of(metrics, "ideal_us"), Optional(DoubleEq(100)));
  EXPECT_THAT(value_of(metrics, "compute_us"), Optional(DoubleEq(130)));
  EXPECT_THAT(value_of(metrics, "comm_us"), Optional(DoubleEq(120)));
  EXPECT_THAT(value_of(metrics, "speedup"), Optional(DoubleEq(1.230769231)));
  EXPECT_THAT(value_of(metrics, "ideal_speedup"), Optional(DoubleEq(1.6)));
  EXPECT_THAT(value_of(metrics, "fraction_of_ideal"), Optional(DoubleEq(0.384615385)));
  EXPECT_EQ(value_of(metrics, "comm_alone_us"), std::nullopt);
}

constexpr const char* pair_of_queues = R"(
description: two streams
system: SOURCE/tests/data/tiny_node.yaml
program:
  queues:
    a: [{stream: {read: 40 MB, write: 1 MB}}]
    b: [{stream: {read: 10 MB, write: 1 MB}}]
)";

StudyResult study_of(const std::string& rest) {
  std::string text = pair_of_queues + rest;
  text.replace(text.find("SOURCE"), 6, support::source_dir());
  config::Diagnostics diagnostics;
  auto tree = config::load_text("s.yaml", text, {}, diagnostics);
  Preparer preparer;
  const auto study = prepare_runs(read_scenario(std::move(*tree), {}, diagnostics), preparer, diagnostics);
  EXPECT_TRUE(study && diagnostics.ok()) << diagnostics.str();
  return run_study(*study, {});
}

double metric(const RunResult& run, const std::string& name) {
  const auto value = value_of(run.metrics, name);
  EXPECT_TRUE(value) << name;
  return value.value_or(0);
}

TEST(Overlap, TwoQueuesAreHeldAgainstTheirOwnIsolatedTimes) {
  const StudyResult result = study_of("variants: {all: {}, half: {program.queues.a.cu_limit: 4}}\n");
  const RunResult& all = result.runs[0];
  const RunResult& half = result.runs[1];
  EXPECT_LT(metric(all, "a_isolated_us"), metric(half, "a_isolated_us"))
      << "each run is compared with its own settings";
  EXPECT_EQ(metric(all, "b_isolated_us"), metric(half, "b_isolated_us"));
  EXPECT_DOUBLE_EQ(metric(all, "serial_us"), metric(all, "a_isolated_us") + metric(all, "b_isolated_us"));
  EXPECT_EQ(std::max(metric(all, "a_us"), metric(all, "b_us")), metric(all, "time_us"));
  EXPECT_EQ(value_of(all.metrics, "a_alone_us"), std::nullopt);
}

TEST(Overlap, ComparedVariantsShareTheIdealOfTheirReference) {
  const StudyResult result = study_of(
      "variants: {half: {program.queues.a.cu_limit: 4}, all: {}, serial: {program.order: serial}}\n"
      "compare: {to: all, ideal: overlap, blame: false}\n");
  const RunResult& half = result.runs[0];
  const RunResult& all = result.runs[1];
  const RunResult& serial = result.runs[2];
  EXPECT_EQ(metric(half, "a_isolated_us"), metric(all, "a_isolated_us"));
  EXPECT_LT(metric(half, "a_isolated_us"), metric(half, "a_alone_us"));
  EXPECT_EQ(metric(all, "a_alone_us"), metric(all, "a_isolated_us"));
  // Two queues one after the other take the sum of their times alone, minus the launch of the second queue, which
  // overlaps the first queue.
  EXPECT_LT(serial.time.us(), metric(serial, "serial_us"));
  EXPECT_NEAR(serial.time.us(), metric(serial, "serial_us"), 6);
  EXPECT_NEAR(metric(serial, "fraction_of_ideal"), 0, 0.2);
  EXPECT_EQ(result.comparison[0]->fraction_of_ideal, value_of(half.metrics, "fraction_of_ideal"));
}

TEST(Overlap, IsLeftOutWhereItIsNotAskedFor) {
  const StudyResult result = study_of("compare: {ideal: none}\n");
  EXPECT_EQ(value_of(result.runs[0].metrics, "fraction_of_ideal"), std::nullopt);
  EXPECT_EQ(value_of(result.runs[0].metrics, "a_isolated_us"), std::nullopt);
}

TEST(Overlap, PartsOfTheLostTimeAddUp) {
  const StudyResult result = study_of(
      "variants: {serial: {program.order: serial}, half: {program.queues.a.cu_limit: 4}}\n"
      "compare: {to: serial, ideal: overlap}\n");
  for (const RunResult& run : result.runs) {
    for (const std::string queue : {"a", "b"}) {
      double parts = 0;
      for (const Metric& metric : run.metrics) {
        if (metric.name.starts_with(queue + "_lost_") && metric.name != queue + "_lost_us") parts += metric.value;
      }
      EXPECT_NEAR(parts, metric(run, queue + "_lost_us"), 1e-9);
      EXPECT_NEAR(parts, metric(run, queue + "_us") - metric(run, queue + "_isolated_us"), 1e-9);
    }
  }
  EXPECT_GT(metric(result.runs[1], "a_lost_schedule_us"), 0) << "queue a has fewer CUs";
  EXPECT_EQ(metric(result.runs[1], "b_lost_schedule_us"), 0);
}

// A run with more than two queues has an ideal only if the scenario says `ideal: overlap`. The ideal is the time of the
// longest queue.
TEST(Overlap, ThreeQueuesHaveAnIdealToo) {
  const std::string third = "    c: [{stream: {read: 20 MB, write: 1 MB}}]\n";
  EXPECT_EQ(value_of(study_of(third).runs[0].metrics, "ideal_us"), std::nullopt);
  const RunResult run = study_of(third + "compare: {ideal: overlap, blame: false}\n").runs[0];
  EXPECT_EQ(metric(run, "ideal_us"), metric(run, "a_isolated_us"));
  EXPECT_DOUBLE_EQ(metric(run, "serial_us"),
                   metric(run, "a_isolated_us") + metric(run, "b_isolated_us") + metric(run, "c_isolated_us"));
}

}  // namespace
}  // namespace moire::study
