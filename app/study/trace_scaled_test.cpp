// A trace on more ranks against the operator that generates its kernel for them.
#include <gtest/gtest.h>

#include "app/study/notes.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::study {
namespace {

double kernel_us(const std::string& file, const std::vector<std::string>& sets) {
  config::Diagnostics diagnostics;
  auto overrides = config::parse_sets(sets, diagnostics);
  auto tree = config::load(support::source_dir() + "/configs/scenarios/" + file, overrides, diagnostics);
  Preparer preparer;
  const auto study =
      prepare_runs(scenario_of(file, std::move(*tree), std::move(overrides), diagnostics), preparer, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  if (!study) return -1;
  const StudyResult result = run_study(*study, {});
  for (const Metric& metric : result.runs.at(0).metrics) {
    if (metric.name.starts_with("fused_embedding") && metric.name.ends_with("_kernel_us")) return metric.value;
  }
  return -1;
}

TEST(TraceScaled, TheTraceOfFourGpusOnEightAndOn128RanksIsWithin5PercentOfTheOperator) {
  const std::string configs = support::source_dir() + "/configs/systems/";
  for (const std::vector<std::string>& machine : std::vector<std::vector<std::string>>{
           {"system=" + configs + "4xh200.yaml", "system.node.gpus=8"},
           {"system=" + configs + "2x4xh200.yaml"},
           {"system=" + configs + "2x4xh200.yaml", "system.nodes=32"}}) {
    std::vector<std::string> sets = machine;
    sets.emplace_back("sweep=null");
    const double trace = kernel_us("trace_scaled.yaml", sets);
    const double operator_us = kernel_us("embedding_h200.yaml", machine);
    ASSERT_GT(trace, 0);
    EXPECT_NEAR(trace, operator_us, 0.05 * operator_us) << machine.back();
  }
}

}  // namespace
}  // namespace moire::study
