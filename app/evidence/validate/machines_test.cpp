#include "app/evidence/validate/machines.hpp"

#include <gmock/gmock.h>

namespace moire::validate {
namespace {

Case measured_by(double first, std::vector<std::optional<double>> others, double simulated, bool in_points = false) {
  Case made;
  made.measured = first;
  made.again = std::move(others);
  made.simulated = simulated;
  made.in_points = in_points;
  return made;
}

TEST(Machines, TellHowFarTheyDifferAndWhichErrorIsBeyondThem) {
  GroupResult group;
  // Between the machines; 4 % above the higher one; 10 % below the lower one; not measured again.
  // The machine that did not measure the second case does not count there.
  group.cases = {measured_by(100, {110}, 105), measured_by(50, {49, std::nullopt, 51}, 53),
                 measured_by(200, {200}, 180), measured_by(10, {}, 20)};
  compare_machines(group);
  ASSERT_EQ(group.metrics.size(), 2);
  EXPECT_DOUBLE_EQ(group.metrics[0].value, (10 + 2 + 2 + 0) / 4.0);
  EXPECT_NEAR(group.metrics[1].value, (0 + 4 + 10) / 3.0, 1e-12);
}

TEST(Machines, DifferByPointsWhereErrorsArePoints) {
  GroupResult group;
  group.cases = {measured_by(-4, {2}, 5, true)};
  compare_machines(group);
  EXPECT_DOUBLE_EQ(group.metrics[0].value, 6);
  EXPECT_DOUBLE_EQ(group.metrics[1].value, 3);
}

TEST(Machines, SayNothingOfOneMachine) {
  GroupResult group;
  group.cases = {measured_by(1, {}, 1)};
  compare_machines(group);
  EXPECT_TRUE(group.metrics.empty());
}

}  // namespace
}  // namespace moire::validate
