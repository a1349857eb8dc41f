#include "app/evidence/validate/statistics.hpp"

#include <gtest/gtest.h>

namespace moire::validate {
namespace {

TEST(Percentile, InterpolatesBetweenSortedValues) {
  // The position p (n - 1) is 0.95 x 4 = 3.8, so the value lies at four fifths of the way from 40 to 50.
  EXPECT_DOUBLE_EQ(percentile({50, 10, 20, 40, 30}, 0.95), 48);
  EXPECT_DOUBLE_EQ(percentile({50, 10, 20, 40, 30}, 0.5), 30);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 0), 1);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4}, 1), 4);
  EXPECT_DOUBLE_EQ(percentile({7}, 0.95), 7);
  EXPECT_DOUBLE_EQ(percentile({}, 0.95), 0);
}

TEST(Percentile, OfZeroToHundredIsTheNumber) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  for (const double p : {0.05, 0.25, 0.95, 0.99}) EXPECT_DOUBLE_EQ(percentile(values, p), 100 * p);
}

TEST(Summarise, SizesWithoutSignsBiasWithThem) {
  const Summary summary = summarise({-4, 1, 3, -12});
  EXPECT_EQ(summary.cases, 4);
  EXPECT_DOUBLE_EQ(summary.mean, 5);
  EXPECT_DOUBLE_EQ(summary.median, 3.5);
  EXPECT_DOUBLE_EQ(summary.percentile_95, 4 + 0.85 * 8);  // position 2.85 of 1, 3, 4, 12
  EXPECT_DOUBLE_EQ(summary.worst, 12);
  EXPECT_EQ(summary.worst_at, 3);
  EXPECT_DOUBLE_EQ(summary.bias, -3);
}

TEST(Summarise, FirstOfEqualsIsTheWorst) { EXPECT_EQ(summarise({1, -5, 5}).worst_at, 1); }

TEST(Summarise, NothingIsAllZero) {
  const Summary summary = summarise({});
  EXPECT_EQ(summary.cases, 0);
  EXPECT_EQ(summary.mean, 0);
  EXPECT_EQ(summary.worst, 0);
}

}  // namespace
}  // namespace moire::validate
