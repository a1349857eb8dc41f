#include "app/evidence/validate/speedups.hpp"

#include <gmock/gmock.h>

namespace moire::validate {
namespace {

Case made(const std::string& name, double measured, double simulated, std::optional<double> reference) {
  Case one;
  one.name = name;
  one.measured = measured;
  one.simulated = simulated;
  one.reference = reference;
  return one;
}

TEST(Speedups, AreOfTheReferenceOverBothValues) {
  GroupResult small;
  small.name = "small";
  small.cases = {made("a", 10, 12.5, 20), made("b", 10, 10, std::nullopt)};
  GroupResult large;
  large.name = "large";
  large.cases = {made("a", 100, 80, 100)};
  Speedup spec{"over NCCL", {1, 0}, {}};
  spec.limits.each = 20;
  const GroupResult result = speedup(spec, {small, large});
  ASSERT_EQ(result.cases.size(), 2);
  EXPECT_EQ(result.cases[0].name, "large, a");
  EXPECT_DOUBLE_EQ(*result.cases[0].measured, 1);
  EXPECT_DOUBLE_EQ(result.cases[0].simulated, 1.25);
  EXPECT_DOUBLE_EQ(*result.cases[1].measured, 2);
  EXPECT_DOUBLE_EQ(result.cases[1].simulated, 1.6);
  EXPECT_DOUBLE_EQ(*result.cases[1].error(), -20);
  EXPECT_THAT(result.left_out, testing::ElementsAre("b"));
  EXPECT_DOUBLE_EQ(result.summary.worst, 25);
  ASSERT_EQ(result.limits.size(), 1);
  EXPECT_FALSE(result.limits[0].held());
}

}  // namespace
}  // namespace moire::validate
