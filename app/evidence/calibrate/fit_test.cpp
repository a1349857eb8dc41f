#include "app/evidence/calibrate/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace moire::calibrate {
namespace {

TEST(Fit, DeviationIsNearlyTheLogarithmOfTheRatio) {
  EXPECT_EQ(deviation(3, 3), 0);
  EXPECT_NEAR(deviation(1.1, 1), std::log(1.1), 1e-4);
  EXPECT_EQ(deviation(2, 1), -deviation(1, 2));
  EXPECT_EQ(deviation(1, 0), 2);
  EXPECT_EQ(deviation(0, 0), 0);
}

TEST(Fit, SoftSquareIsASquareFirstAndALineLater) {
  EXPECT_NEAR(soft_square(0.005), 0.005 * 0.005, 1e-7);
  const double step = soft_square(1.0) - soft_square(0.9);
  EXPECT_NEAR(soft_square(1.1) - soft_square(1.0), step, step * 0.01);
}

// The three points are times of latency + bytes / rate. The search finds both parameters from distant starts.
TEST(Fit, FindsWhatMadeThePoints) {
  const auto time = [](double latency, double rate, double bytes) { return latency + bytes / rate; };
  const auto loss = [&](const std::vector<double>& x) {
    double sum = 0;
    for (const double bytes : {8e3, 32e3, 128e3}) {
      sum += soft_square(deviation(time(x[0], x[1], bytes), time(400, 150, bytes)));
    }
    return sum;
  };
  const auto found = minimise({{1000, 1, 1e4}, {40, 1, 1e4}}, 400, loss);
  EXPECT_NEAR(found[0], 400, 1);
  EXPECT_NEAR(found[1], 150, 0.5);
}

TEST(Fit, StaysInsideItsBounds) {
  const auto loss = [](const std::vector<double>& x) {
    EXPECT_GE(x[0], 1);
    EXPECT_LE(x[0], 3);
    return (x[0] - 7) * (x[0] - 7);
  };
  EXPECT_NEAR(minimise({{2, 1, 3}}, 100, loss)[0], 3, 1e-3);
  EXPECT_NEAR(minimise({{3, 1, 3}}, 100, loss)[0], 3, 1e-3);   // starts at a bound
  EXPECT_NEAR(minimise({{50, 1, 3}}, 100, loss)[0], 3, 1e-3);  // starts outside the bounds
}

TEST(Fit, FindsZeroAndLeavesIt) {
  const auto at = [](double best) {
    return [best](const std::vector<double>& x) { return (x[0] - best) * (x[0] - best); };
  };
  EXPECT_NEAR(minimise({{0, 0, 10}}, 200, at(0.4))[0], 0.4, 0.01);
  EXPECT_NEAR(minimise({{0.5, 0, 10}}, 200, at(0))[0], 0, 0.01);
}

TEST(Fit, WhatTheLossThrowsIsNotSwallowed) {
  EXPECT_THROW(minimise({{1, 0, 2}}, 10, [](const std::vector<double>&) -> double { throw std::logic_error("bug"); }),
               std::logic_error);
}

}  // namespace
}  // namespace moire::calibrate
