#include "sim/core/power.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace moire::core {

namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;
constexpr std::uint64_t sign_and_mantissa = 0x800FFFFFFFFFFFFFULL;
constexpr int mantissa_bits = 52, exponent_bias = 1023;

// floor_of, mantissa_of and scaled replace std::floor, std::frexp and std::ldexp. For the values that usually occur
// here, they do not call the C library.
double floor_of(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole > x ? whole - 1 : whole;
}

double mantissa_of(double x, int& exponent) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto biased = static_cast<int>(bits >> mantissa_bits);
  if (biased <= 0 || biased >= 2 * exponent_bias + 1) return std::frexp(x, &exponent);
  exponent = biased - (exponent_bias - 1);
  return std::bit_cast<double>((bits & sign_and_mantissa) | static_cast<std::uint64_t>(exponent_bias - 1)
                                                                << mantissa_bits);
}

double scaled(double x, int exponent) {
  if (std::abs(exponent) > exponent_bias - 3) return std::ldexp(x, exponent);
  return x * std::bit_cast<double>(static_cast<std::uint64_t>(exponent_bias + exponent) << mantissa_bits);
}

// Returns e^x = 2^k e^r, with an integer k and |r| <= ln2 / 2. e^r is computed by its Taylor series up to r^16 / 16!.
double exponential(double x) {
  constexpr int terms = 16;
  const double k = floor_of(x / ln2 + 0.5);
  const double r = x - k * ln2;
  std::array<double, terms> part;  // all r / i are computed first, because they depend only on r
  for (int i = 0; i < terms; ++i) part[i] = r / (i + 1);
  double sum = 1;
  for (int i = terms; i-- > 0;) sum = 1 + part[i] * sum;
  return scaled(sum, static_cast<int>(k));
}

constexpr std::array<double, 11> odd_inverses = [] {
  std::array<double, 11> inverses{};
  for (int i = 0; i < 11; ++i) inverses[i] = 1.0 / (2 * i + 1);
  return inverses;
}();

}  // namespace

// ln(x) = k ln2 + 2 artanh((m - 1) / (m + 1)) for x = m 2^k with m in [1/sqrt2, sqrt2). So the argument of artanh is
// below 0.172 in absolute value, and the series of artanh converges fast.
double logarithm(double x) {
  int k = 0;
  double m = mantissa_of(x, k);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --k;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int i = 11; i-- > 0;) sum = sum * s2 + odd_inverses[i];
  return k * ln2 + 2 * s * sum;
}

// Results are memoised, because ranks that do the same compute the same powers.
double power(double base, double exponent) {
  struct Known {
    double base = 0, exponent = 0, power = 0;
  };
  constexpr unsigned places_bits = 9;
  thread_local std::array<Known, 1U << places_bits> last{};  // never matches initially, because no base is 0
  // Fibonacci hashing: the factor is 2^64 / golden ratio.
  const std::uint64_t spread =
      (std::bit_cast<std::uint64_t>(base) + std::bit_cast<std::uint64_t>(exponent)) * 0x9E3779B97F4A7C15ULL;
  Known& known = last[spread >> (64 - places_bits)];
  if (known.base != base || known.exponent != exponent)
    known = {base, exponent, exponential(exponent * logarithm(base))};
  return known.power;
}

}  // namespace moire::core
