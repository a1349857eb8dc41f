#include "app/evidence/wg_compare/cumulative.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace moire::wg_compare {
namespace {

constexpr Time ps(std::int64_t n) { return Time{n}; }

TEST(Cumulative, GrowsEvenlyAndInSteps) {
  const Cumulative curve({{ps(10), ps(20), 5}, {ps(15), ps(15), 1}});
  EXPECT_EQ(curve.total(), 6);
  EXPECT_EQ(curve.last(), ps(20));
  EXPECT_EQ(curve.at(ps(0)), 0);
  EXPECT_EQ(curve.at(ps(10)), 0);
  EXPECT_DOUBLE_EQ(curve.at(ps(12)), 1);
  EXPECT_DOUBLE_EQ(curve.at(ps(14)), 2);
  EXPECT_DOUBLE_EQ(curve.at(ps(15)), 3.5);
  EXPECT_DOUBLE_EQ(curve.at(ps(20)), 6);
  EXPECT_DOUBLE_EQ(curve.at(ps(1000)), 6);
}

TEST(Cumulative, OverlappingPortionsAddUp) {
  const Cumulative curve({{ps(0), ps(10), 10}, {ps(5), ps(10), 5}});
  EXPECT_DOUBLE_EQ(curve.at(ps(5)), 5);
  EXPECT_DOUBLE_EQ(curve.at(ps(6)), 7);
}

TEST(AreaBetween, OfACurveAndItself) {
  const Cumulative curve({{ps(3), ps(7), 4}, {ps(5), ps(5), 2}});
  EXPECT_EQ(area_between(curve, curve), 0);
  EXPECT_EQ(area_between(Cumulative(), Cumulative()), 0);
}

TEST(AreaBetween, OfAShiftIsAmountTimesShift) {
  const Cumulative step({{ps(10), ps(10), 3}});
  const Cumulative later({{ps(17), ps(17), 3}});
  EXPECT_DOUBLE_EQ(area_between(step, later), 21);
  EXPECT_DOUBLE_EQ(area_between(later, step), 21);
  const Cumulative ramp({{ps(10), ps(20), 3}});
  const Cumulative ramp_later({{ps(17), ps(27), 3}});
  EXPECT_DOUBLE_EQ(area_between(ramp, ramp_later), 21);
}

// A step at 5 and a ramp from 0 to 10 enclose two triangles, each with base 5 and height 1/2.
TEST(AreaBetween, CurvesThatCross) {
  const Cumulative step({{ps(5), ps(5), 1}});
  const Cumulative ramp({{ps(0), ps(10), 1}});
  EXPECT_DOUBLE_EQ(area_between(step, ramp), 2.5);
  // A ramp from 4 to 6 crosses the ramp from 0 to 10 at 5.
  const Cumulative steep({{ps(4), ps(6), 1}});
  EXPECT_NEAR(area_between(steep, ramp), 2 * (0.5 * 4 * 0.4 + 0.5 * 1 * 0.4), 1e-12);
}

// For two samples of the same size, Wasserstein-1 is the mean distance of the sorted values.
TEST(AreaBetween, OfDistributionsIsTheDistanceOfSortedValues) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> a(40), b(40);
    std::vector<Portion> of_a, of_b;
    for (int i = 0; i < 40; ++i) {
      a[i] = random() % 1000;
      b[i] = 200 + random() % 500;
      of_a.push_back({ps(a[i]), ps(a[i]), 1.0 / 40});
      of_b.push_back({ps(b[i]), ps(b[i]), 1.0 / 40});
    }
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    double distance = 0;
    for (int i = 0; i < 40; ++i) distance += std::abs(static_cast<double>(a[i] - b[i])) / 40;
    EXPECT_NEAR(area_between(Cumulative(of_a), Cumulative(of_b)), distance, 1e-9);
  }
}

}  // namespace
}  // namespace moire::wg_compare
