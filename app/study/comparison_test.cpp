#include <gmock/gmock.h>

#include "app/study/study.hpp"

namespace moire::study {
namespace {

using testing::Eq;
using testing::Optional;

// Returns the comparison of four variants at one point: a library whose communication takes 40 us, the computation
// alone, a kernel that hides three quarters of the communication, and a kernel that is slower than the library.
StudyResult compared(std::vector<std::int64_t> times_us) {
  Scenario scenario;
  for (const char* name : {"library", "compute", "hidden", "slower"}) scenario.variants.push_back({name, {}});
  scenario.compare_to = 0;
  scenario.compute_only = 1;
  scenario.summary = {SummaryKind::mean};
  StudyResult result;
  for (const std::int64_t us : times_us) {
    RunResult run;
    run.time = Time::from_us(static_cast<double>(us));
    result.runs.push_back(run);
  }
  compare(scenario, result);
  return result;
}

TEST(OverlapEfficiency, IsThePartOfTheCommunicationThatIsHidden) {
  const StudyResult result = compared({140, 100, 110, 160});
  EXPECT_THAT(value_of(result.runs[0].metrics, "effective_communication_us"), Optional(Eq(40)));
  EXPECT_THAT(value_of(result.runs[2].metrics, "effective_communication_us"), Optional(Eq(10)));
  EXPECT_THAT(value_of(result.runs[2].metrics, "overlap_efficiency"), Optional(Eq(0.75)));
  EXPECT_THAT(value_of(result.runs[3].metrics, "overlap_efficiency"), Optional(Eq(-0.5)));
  EXPECT_EQ(result.comparison[2]->overlap_efficiency, 0.75);
  EXPECT_EQ(value_of(result.runs[0].metrics, "overlap_efficiency"), std::nullopt) << "the library is the reference";
  EXPECT_EQ(value_of(result.runs[1].metrics, "effective_communication_us"), std::nullopt)
      << "the computation alone does not communicate";
  for (const SummaryRow& row : result.summary) {
    if (row.variant == 2) {
      EXPECT_THAT(row.overlap_efficiency, Optional(Eq(0.75)));
    }
  }
}

TEST(OverlapEfficiency, IsNotDefinedWhereThereIsNothingToHide) {
  const StudyResult result = compared({100, 100, 90, 160});
  EXPECT_EQ(value_of(result.runs[2].metrics, "overlap_efficiency"), std::nullopt);
  EXPECT_THAT(value_of(result.runs[2].metrics, "effective_communication_us"), Optional(Eq(-10)));
}

TEST(OverlapEfficiency, LeavesRunsOutThatFailed) {
  Scenario scenario;
  for (const char* name : {"library", "compute", "hidden"}) scenario.variants.push_back({name, {}});
  scenario.compare_to = 0;
  scenario.compute_only = 1;
  StudyResult result;
  result.runs.resize(3);
  for (RunResult& run : result.runs) run.time = Time::from_us(10);
  result.runs[1].end = RunEnd::failure;
  compare(scenario, result);
  EXPECT_EQ(value_of(result.runs[2].metrics, "effective_communication_us"), std::nullopt);
}

}  // namespace
}  // namespace moire::study
