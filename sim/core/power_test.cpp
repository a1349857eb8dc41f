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

TEST(Logarithm, AgreesWithTheCLibrary) {
  for (double x = 1e-6; x < 1e6; x *= 1.7)
    EXPECT_NEAR(logarithm(x), std::log(x), 1e-14 * (1 + std::abs(std::log(x)))) << x;
}

TEST(Power, OfOneIsOne) { EXPECT_EQ(power(1.0, 1.7), 1.0); }

}  // namespace
}  // namespace moire::core
