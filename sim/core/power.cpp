#include "sim/core/power.hpp"

#include <cmath>

namespace moire::core {

namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;

// e^x = 2^k e^r, |r| <= ln2 / 2: Taylor to r^16 / 16!.
double exponential(double x) {
  const double k = std::floor(x / ln2 + 0.5);
  const double r = x - k * ln2;
  double sum = 1;
  for (int i = 16; i >= 1; --i) sum = 1 + r / i * sum;
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace

// ln(x) = k ln2 + 2 artanh((m - 1) / (m + 1)), x = m 2^k, m in [1/sqrt2, sqrt2): |argument| < 0.172.
double logarithm(double x) {
  int k = 0;
  double m = std::frexp(x, &k);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --k;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int i = 21; i >= 1; i -= 2) sum = sum * s2 + 1.0 / i;
  return k * ln2 + 2 * s * sum;
}

double power(double base, double exponent) { return exponential(exponent * logarithm(base)); }

}  // namespace moire::core
