#include "sim/core/power.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace moire::core {
namespace {

TEST(Power, AgreesWithTheLibraryToTheLastFewBits) {
  for (double base = 1e-6; base <= 1.0; base *= 1.37) {
    for (double exponent = 0.1; exponent < 6; exponent += 0.37) {
      const double expected = std::pow(base, exponent);
      EXPECT_NEAR(power(base, exponent), expected, 1e-13 * expected) << base << "^" << exponent;
    }
  }
}

TEST(Power, AgreesFarFromOne) {
  for (double base = 1e-300; base < 1e300; base *= 7.3e4) {
    for (const double exponent : {0.01, 1.0 / 3, 1.0}) {
      const double expected = std::pow(base, exponent);
      EXPECT_NEAR(power(base, exponent), expected, 2e-13 * expected) << base << "^" << exponent;
    }
  }
  EXPECT_NEAR(power(1e-310, 0.5), std::sqrt(1e-310), 1e-13 * std::sqrt(1e-310));
  EXPECT_NEAR(power(0.5, 1070), std::pow(0.5, 1070), std::pow(0.5, 1070) * 1e-3);  // few bits are left there
}

TEST(Power, IsAsSmoothAsItsTablesAllow) {
  // A search for a balance takes differences of it.
  for (double base = 0.4; base < 1.0; base += 1.7e-4) {
    const double rise = power(base * (1 + 1e-9), 1.7) / power(base, 1.7) - 1;
    EXPECT_NEAR(rise, 1.7e-9, 1e-15) << base;
  }
}

TEST(Logarithm, AgreesWithTheCLibrary) {
  for (double x = 1e-6; x < 1e6; x *= 1.7)
    EXPECT_NEAR(logarithm(x), std::log(x), 1e-14 * (1 + std::abs(std::log(x)))) << x;
}

TEST(Power, OfOneIsOne) { EXPECT_EQ(power(1.0, 1.7), 1.0); }

}  // namespace
}  // namespace moire::core
