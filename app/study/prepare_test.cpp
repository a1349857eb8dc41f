#include "app/study/prepare.hpp"

#include <gmock/gmock.h>

#include "app/report/formats.hpp"
#include "app/study/child_run.hpp"
#include "app/study/report.hpp"
#include "app/study/study.hpp"
#include "sim/core/log.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::study {
namespace {

using testing::HasSubstr;

const std::string system_line = "description: x\nsystem: " + support::source_dir() + "/tests/data/tiny_node.yaml\n";

std::optional<PreparedStudy> prepared(const std::string& text, Preparer& preparer, config::Diagnostics& diagnostics) {
  auto tree = config::load_text("s.yaml", text, {}, diagnostics);
  return prepare_runs(read_scenario(std::move(*tree), {}, diagnostics), preparer, diagnostics);
}

std::string errors(const std::string& text) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  EXPECT_FALSE(prepared(text, preparer, diagnostics));
  return diagnostics.str();
}

const std::string two = "program:\n  queues:\n    a: [{stream: {read: 4 MB}}]\n    b: [{stream: {read: 2 MB}}]\n";

TEST(Prepare, WhatIsTheSameIsMadeOnce) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  const auto study = prepared(system_line + two +
                                  "variants:\n  base: {}\n  same: {program.order: concurrent}\n"
                                  "  written: {program.order: concurrent}\n  serial: {program.order: serial}\n",
                              preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  EXPECT_EQ(study->runs[1], study->runs[2]);
  EXPECT_NE(study->runs[1], study->runs[3]);
  EXPECT_EQ(study->runs[1]->system, study->runs[3]->system);
}

TEST(Prepare, ARunTellsTheStepsThatWereExpected) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  const auto study = prepared(system_line + two, preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  core::Pulse pulse;
  const RunResult result = simulate(*study->run(0), nullptr, {}, &pulse);
  EXPECT_EQ(pulse.events.load(), result.stats.events);
  EXPECT_EQ(pulse.now_ps.load(), result.time.ps);
  EXPECT_EQ(static_cast<double>(pulse.steps.load()), study->steps[0]);
}

TEST(Prepare, ATraceIsParsedOnceForAllRuns) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  auto scenario = load_scenario(support::source_dir() + "/configs/scenarios/h200x4_trace.yaml", {}, diagnostics);
  const auto study = prepare_runs(std::move(*scenario), preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  EXPECT_EQ(study->runs.size(), 6);
  EXPECT_EQ(preparer.traces().parsed(), 2) << "the scenario names two trace files";
}

// This test would take minutes if the check simulated the candidates.
TEST(Prepare, ACheckTimesNoCandidates) {
  const std::string text =
      "description: x\nsystem: " + support::source_dir() +
      "/configs/systems/4xh200.yaml\nprogram: {queues: {main: [{all_reduce: {bytes_per_rank: 64 KiB, "
      "algorithm: best}}]}}\n";
  for (const auto purpose : {Preparer::Purpose::run, Preparer::Purpose::check}) {
    config::Diagnostics diagnostics;
    Preparer preparer(purpose);
    const auto study = prepared(text, preparer, diagnostics);
    ASSERT_TRUE(study) << diagnostics.str();
    const bool checks = purpose == Preparer::Purpose::check;
    EXPECT_EQ(preparer.untried().candidates > 0, checks);
    EXPECT_EQ(study->run(0)->notes.empty(), checks) << "a note names the best candidate and the reason";
  }
}

// If a variant replaces a node that --set has changed, the --set is applied again to the new node. It also holds in
// variants that change other paths.
TEST(Prepare, ASetIsSetAgainInWhatAVariantReplaced) {
  const std::string text = system_line + two +
                           "variants:\n  base: {}\n  other: {program: {queues: {a: [{stream: {read: 1 MB}}]}}}\n"
                           "  later: {program.queues.b: [{stream: {read: 8 MB}}], program.order: serial}\n";
  config::Diagnostics diagnostics;
  Preparer preparer;
  auto sets = config::parse_sets({"program.queues.a.0.stream.write=3 MB"}, diagnostics);
  auto tree = config::load_text("s.yaml", text, {}, diagnostics);
  const auto study =
      prepare_runs(scenario_of("s.yaml", std::move(*tree), std::move(sets), diagnostics), preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  for (std::size_t run = 0; run < 3; ++run) {
    double written = 0;
    for (const auto& shape : std::get<program::Kernel>(study->run(run)->program->queues[0].operations[0]).shapes)
      written += shape.write;
    EXPECT_GT(written, 0) << run;
  }
}

TEST(Prepare, WhatWasNotKeptIsPreparedAgain) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  auto study = prepared(system_line + two, preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  const RunResult kept = simulate(*study->run(0), nullptr);
  study->runs[0] = nullptr;
  EXPECT_EQ(simulate(*study->run(0), nullptr).time, kept.time);
}

int built = 0;  // number of machines built

// The first simulation of each process uses the machine that the check built; every further simulation of this process
// builds a machine.
TEST(Prepare, AMachineIsBuiltOnce) {
  core::log_state = {core::LogLevel::debug, [](core::LogLevel, const std::string& text) {
                       if (text == "a machine of 4 ranks is built") ++built;
                     }};
  config::Diagnostics diagnostics;
  Preparer preparer;
  const auto study =
      prepared(system_line + two + "variants: {base: {}, serial: {program.order: serial}}\n", preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  EXPECT_EQ(built, 1);
  const std::vector<RunResult> forked = run_study(*study, {}).runs;
  const int alone = 4;  // each queue of both runs alone, for the ideal
  EXPECT_EQ(built, 1 + alone);
  for (std::size_t r = 0; r < 2; ++r) {
    const RunResult first = simulate_in_child([&] { return simulate(*study->run(r), nullptr); }, [] {});
    const RunResult own =
        simulate_in_child([&] { return simulate_more(*study->run(r)), simulate_more(*study->run(r)); }, [] {});
    EXPECT_EQ(first.time, forked[r].time);
    EXPECT_EQ(own.time, first.time);
  }
  EXPECT_EQ(built, 3 + alone);
  simulate(*study->run(0), nullptr, {.queues = 2});
  EXPECT_EQ(built, 4 + alone) << "a counterfactual run builds a machine of its own";
  simulate(*study->run(0), nullptr);
  EXPECT_EQ(built, 4 + alone);
  simulate(*study->run(1), nullptr);
  EXPECT_EQ(built, 5 + alone) << "this process has used the kept machine";
  core::log_state = {};
}

TEST(Prepare, QueuesThatMetricsCannotTellApartAreRefused) {
  const std::string start = system_line + "program:\n  queues:\n";
  EXPECT_THAT(errors(start + "    a b: [{stream: {read: 4 MB}}]\n    a_b: [{stream: {read: 2 MB}}]\n"),
              HasSubstr("s.yaml:6:5: queues 'a b' and 'a_b' both become 'a_b' in the names of metrics; rename one"));
  EXPECT_THAT(
      errors(start + "    serial: [{stream: {read: 4 MB}}]\n    a: [{stream: {read: 2 MB}}]\n"),
      HasSubstr("s.yaml:5:5: queue 'serial' would have the same name as a metric of the run: serial_us; rename it"));
}

// Regression: the queue and the operation had the same metric name, and the operation's time was lost.
TEST(Study, AQueueCalledLikeAnOperationHidesNothing) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  const auto study = prepared(system_line +
                                  "program:\n  queues:\n    stream: [{delay: {time: 20 us}}, {stream: {read: 4 MB}}]\n"
                                  "    b: [{stream: {read: 2 MB}}]\n",
                              preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  const RunResult run = run_study(*study, {}).runs[0];
  const auto queue = value_of(run.metrics, "stream_us");
  const auto operation = value_of(run.metrics, "stream_operation_us");
  ASSERT_TRUE(queue && operation);
  EXPECT_NEAR(*queue, *operation + 20, 6);
  EXPECT_EQ(*queue, microseconds(run.queues[0].end));
}

TEST(Study, SaysTheSameHoweverManyRunsAreSimulatedAtOnce) {
  config::Diagnostics diagnostics;
  Preparer preparer;
  const auto study = prepared(system_line + two +
                                  "variants: {base: {}, serial: {program.order: serial}}\n"
                                  "sweep: {program.queues.a.0.stream.read: [1 MB, 8 MB, 3 MB]}\n"
                                  "compare: {to: base, ideal: overlap}\n",
                              preparer, diagnostics);
  ASSERT_TRUE(study) << diagnostics.str();
  const auto json = [&](std::size_t at_once) {
    StudyOptions options;
    options.at_once = at_once;
    return report::write_json(document_of(study->scenario, run_study(*study, options)));
  };
  const std::string one = json(1);
  EXPECT_THAT(one, HasSubstr("a_lost_memory_us"));
  for (const std::size_t at_once : {2, 5}) EXPECT_EQ(json(at_once), one);
}

}  // namespace
}  // namespace moire::study
