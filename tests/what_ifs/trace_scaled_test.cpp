// Compares a trace that is scaled to more ranks with the operator that generates the same kernel for this number of
// ranks.
#include <gtest/gtest.h>

#include "tests/what_ifs/ran.hpp"

namespace moire::study {
namespace {

double kernel_us(const std::string& file, const Sets& sets) {
  const Ran ran = run_shipped(file, sets);
  EXPECT_EQ(ran.errors, "");
  if (ran.result.runs.empty()) return -1;
  for (const Metric& metric : ran.result.runs.at(0).metrics) {
    if (metric.name.starts_with("fused_embedding") && metric.name.ends_with("_kernel_us")) return metric.value;
  }
  return -1;
}

TEST(TraceScaled, TheTraceOfFourGpusOnEightAndOn128RanksIsWithin5PercentOfTheOperator) {
  const std::string configs = support::source_dir() + "/configs/systems/";
  for (const Sets& machine : std::vector<Sets>{{"system=" + configs + "4xh200.yaml", "system.node.gpus=8"},
                                               {"system=" + configs + "2x4xh200.yaml"},
                                               {"system=" + configs + "2x4xh200.yaml", "system.nodes=32"}}) {
    Sets sets = machine;
    sets.emplace_back("sweep=null");
    const double trace = kernel_us("trace_scaled.yaml", sets);
    const double operator_us = kernel_us("embedding_h200.yaml", machine);
    ASSERT_GT(trace, 0);
    EXPECT_NEAR(trace, operator_us, 0.05 * operator_us) << machine.back();
  }
}

}  // namespace
}  // namespace moire::study
