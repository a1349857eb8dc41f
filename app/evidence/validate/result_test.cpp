#include "app/evidence/validate/result.hpp"

#include <gmock/gmock.h>

#include "app/evidence/validate/limits.hpp"
#include "app/evidence/validate/report.hpp"

namespace moire::validate {
namespace {

using testing::HasSubstr;

Case made(const std::string& name, double measured, double simulated, const std::string& curve = "") {
  Case one;
  one.name = name;
  one.curve = curve;
  one.metric = "time_us";
  one.unit = "us";
  one.measured = measured;
  one.simulated = simulated;
  return one;
}

TEST(Case, ErrorIsOfTheMeasuredValue) {
  EXPECT_DOUBLE_EQ(*made("a", 200, 190).error(), -5);
  EXPECT_DOUBLE_EQ(*made("a", 190, 209).error(), 10);
}

TEST(Case, ErrorInPointsIsADifference) {
  Case one = made("a", 20, 23.5);
  one.in_points = true;
  EXPECT_DOUBLE_EQ(*one.error(), 3.5);
}

TEST(Case, NoErrorWithoutAMeasuredValue) {
  Case one = made("a", 1, 1);
  one.measured.reset();
  one.expected = 2;
  EXPECT_FALSE(one.error());
  EXPECT_FALSE(one.expected_error());
}

GroupResult two_curves() {
  GroupResult group;
  group.name = "group";
  group.cases = {made("a", 100, 101, "one"), made("b", 100, 97, "one"), made("c", 100, 108, "two")};
  group.cases[1].expected = 110;
  group.summarise();
  return group;
}

TEST(GroupResult, SummarisesAllAndEachCurve) {
  const GroupResult group = two_curves();
  EXPECT_DOUBLE_EQ(group.summary.mean, 4);
  EXPECT_EQ(group.worst_case, "c");
  ASSERT_EQ(group.curves.size(), 2);
  EXPECT_EQ(group.curves[0].name, "one");
  EXPECT_DOUBLE_EQ(group.curves[0].summary.mean, 2);
  EXPECT_EQ(group.curves[0].worst_case, "b");
  EXPECT_DOUBLE_EQ(group.curves[1].summary.worst, 8);
  EXPECT_EQ(group.expected_summary.cases, 1);
  EXPECT_DOUBLE_EQ(group.expected_summary.mean, 10);
}

TEST(Limits, StandOnTheSummary) {
  GroupResult group = two_curves();
  apply({.each = 7, .mean = 4, .median = 2, .percentile_95 = 8, .curve = 5}, group);
  ValidationResult result;
  result.groups.push_back(group);
  std::vector<std::string> outcomes;
  for (const Limit& limit : group.limits)
    outcomes.push_back(limit.on + (limit.at.empty() ? "" : " " + limit.at) + (limit.held() ? "" : "!"));
  EXPECT_THAT(outcomes, testing::ElementsAre("case c!", "mean", "median!", "percentile_95", "curve one", "curve two!"));
  EXPECT_FALSE(result.passed());
  EXPECT_THAT(
      beyond_limits(result),
      testing::ElementsAre("beyond its limit: group 'group': the error of case 'c' is 8 %, above the limit of 7 %",
                           "beyond its limit: group 'group': median of the errors is 3 %, above the limit of 2 %",
                           "beyond its limit: group 'group': the mean error of 'two' is 8 %, above the limit of 5 %"));
}

TEST(Limits, ExactlyTheLimitIsHeld) {
  GroupResult group = two_curves();
  apply({.each = 8, .mean = {}, .median = {}, .percentile_95 = {}, .curve = {}}, group);
  ASSERT_EQ(group.limits.size(), 1);
  EXPECT_NEAR(group.limits[0].value, 8, 1e-9);
  EXPECT_TRUE(group.limits[0].held());
}

TEST(Limits, OfAMetricAreToldByItsName) {
  ValidationResult result;
  result.groups.emplace_back();
  result.groups[0].name = "trace";
  static const study::MetricInfo difference{"occupancy_difference_percent", ""};
  result.groups[0].metrics = {{difference, 7}};
  result.groups[0].limits = {{"occupancy_difference_percent", 5, 7, ""}};
  EXPECT_THAT(beyond_limits(result),
              testing::ElementsAre("beyond its limit: group 'trace': "
                                   "occupancy_difference_percent is 7 %, above the limit of 5 %"));
}

TEST(Words, NumbersKeepDigitsThatSaySomething) {
  EXPECT_EQ(shown(value_of(285)), "285.00");
  EXPECT_EQ(shown(value_of(0.012345)), "0.0123");
  EXPECT_EQ(shown(error_of(-4.52, "%")), "-4.5 %");
  EXPECT_EQ(shown(error_of(-0.04, "%")), "+0.0 %");
  EXPECT_EQ(shown(size_of(-4.52, "points")), "4.5 points");
}

}  // namespace
}  // namespace moire::validate
