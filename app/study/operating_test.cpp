#include "app/study/operating.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "app/study/study.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::study {
namespace {

using testing::HasSubstr;

RunResult at(double share) {
  RunResult result;
  result.clock_share = share;
  return result;
}

// The power is 125 W plus 1000 W times the cube of the clock, which is given as a share of the full clock.
TEST(SteadyState, IsWhereThePowerMeetsTheLimit) {
  for (const double cap : {1200.0, 1000.0, 625.0, 250.0, 200.0}) {
    int runs = 0;
    double last = 0;
    const RunResult found = steady_state(
        0.1,
        [&](double share) {
          ++runs;
          last = share;
          return at(share);
        },
        [&](const RunResult&, double share) {
          return Excess{(125 + 1000 * share * share * share) / cap, share};
        });
    const double exact = std::cbrt(std::min(1.0, (cap - 125) / 1000));
    EXPECT_NEAR(found.clock_share, exact, 2e-3 * exact) << cap;
    EXPECT_EQ(found.clock_share, last);
    EXPECT_LE(runs, 12) << cap;
    if (cap > 1125) {
      EXPECT_EQ(runs, 1) << "the full clock is within the limit, so there is nothing to search";
    }
  }
}

TEST(SteadyState, TheLowestClockIsTheLast) {
  const RunResult found = steady_state(0.25, at, [](const RunResult&, double) { return Excess{3, 1}; });
  EXPECT_EQ(found.clock_share, 0.25);
}

// A program uses 90 % of the matrix rate at any clock. The limit of this share x clock^2 is 72.9 %.
TEST(SteadyState, MatrixUnitsTakeTheirShare) {
  const RunResult found = steady_state(0.1, at, [](const RunResult&, double share) {
    return Excess{0.5, 0.9 * share * share / 0.729};
  });
  EXPECT_NEAR(found.clock_share, 0.9, 1e-3);
}

std::optional<PreparedStudy> prepared(const std::string& more, config::Diagnostics& diagnostics,
                                      const std::string& system = "tests/data/tiny_node.yaml") {
  Preparer preparer;
  auto tree = config::load_text("s.yaml",
                                "description: x\nsystem: " + support::source_dir() + "/" + system +
                                    "\nprogram: {queues: {main: [{gemm: {m: 4096, n: 4096, k: 4096}}]}}\n" + more,
                                {}, diagnostics);
  return prepare_runs(read_scenario(std::move(*tree), {}, diagnostics), preparer, diagnostics);
}

std::string error_of(const std::string& more, const std::string& system = "tests/data/tiny_node.yaml") {
  config::Diagnostics diagnostics;
  EXPECT_FALSE(prepared(more, diagnostics, system));
  return diagnostics.str();
}

TEST(OperatingPoint, NeedsTheFiguresThatItRestsOn) {
  EXPECT_THAT(error_of("operating_point: sustained"), HasSubstr("s.yaml:4:18"));
  EXPECT_THAT(error_of("operating_point: {power_cap: 500 W}"), HasSubstr("does not state its power"));
  EXPECT_THAT(error_of("operating_point: {clock: 9 GHz}"), HasSubstr("cannot run at a clock of 9000 MHz; write"));
  EXPECT_THAT(error_of("operating_point: {power_cap: 900 W}", "configs/systems/4xh200.yaml"),
              HasSubstr("has a power limit of 700 W; write a lower one"));
  EXPECT_THAT(error_of("operating_point: {power_cap: 100 W}", "configs/systems/4xh200.yaml"),
              HasSubstr("when it is idle"));
}

RunResult run(const std::string& more, const std::string& system = "configs/systems/4xh200.yaml") {
  config::Diagnostics diagnostics;
  const auto study = prepared(more + "\n", diagnostics, system);
  EXPECT_TRUE(study) << diagnostics.str();
  return simulate(*study->run(0), nullptr);
}

TEST(OperatingPoint, BurstIsWhatIsSimulatedWithoutOne) {
  const RunResult plain = run("");
  const RunResult burst = run("operating_point: burst");
  EXPECT_EQ(plain.time, burst.time);
  EXPECT_FALSE(value_of(plain.metrics, "power_mean_w"));
  ASSERT_TRUE(value_of(burst.metrics, "power_mean_w"));
  for (const Metric& metric : plain.metrics) EXPECT_EQ(value_of(burst.metrics, metric.name), metric.value);
  EXPECT_EQ(run("operating_point: {clock: 1.98 GHz}").time, plain.time);
  EXPECT_EQ(run("operating_point: burst", "tests/data/tiny_node.yaml").time, run("", "tests/data/tiny_node.yaml").time);
}

TEST(OperatingPoint, ALowerLimitTakesLongerAndLessPower) {
  Time before;
  double watts = 1e9;
  for (const char* cap : {"700 W", "500 W", "350 W"}) {
    const RunResult result = run(std::string("operating_point: {power_cap: ") + cap + "}");
    EXPECT_GT(result.time, before) << cap;
    EXPECT_LT(result.hottest_watts, watts) << cap;
    before = result.time;
    watts = result.hottest_watts;
  }
}

}  // namespace
}  // namespace moire::study
