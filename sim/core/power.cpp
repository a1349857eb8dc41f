#include "sim/core/power.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

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

namespace {

// The series above take two hundred cycles; from these tables on, few terms are enough. The tables come of the series.
constexpr int log_steps = 128;  // between 1 and 2
constexpr int exp_steps = 64;   // between 1 and 2
struct Tables {
  std::array<double, log_steps + 1> log{}, inverse{};
  std::array<double, exp_steps> exp{};
  Tables() {
    for (int i = 0; i <= log_steps; ++i) {
      const double x = 1 + i / double{log_steps};
      log[static_cast<std::size_t>(i)] = logarithm(x);
      inverse[static_cast<std::size_t>(i)] = 1 / x;
    }
    for (int i = 0; i < exp_steps; ++i) exp[static_cast<std::size_t>(i)] = exponential(i * (ln2 / exp_steps));
  }
};
const Tables tables;

constexpr std::uint64_t mantissa = (std::uint64_t{1} << 52) - 1;
constexpr int bias = 1023;

// x = c (1 + r) 2^k, c the next step, |r| <= 1/256: ln(c) + r - r^2 / 2 + ... + r^7 / 7.
double fast_logarithm(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const double k = static_cast<int>(bits >> 52) - bias;
  const auto m = std::bit_cast<double>((bits & mantissa) | std::uint64_t{bias} << 52);
  const auto i = static_cast<std::size_t>((m - 1) * log_steps + 0.5);
  const double r = (m - (1 + static_cast<double>(i) / log_steps)) * tables.inverse[i];
  const double r2 = r * r;
  const double tail = (1. / 3 - r * 0.25) + r2 * ((1. / 5 - r * (1. / 6)) + r2 * (1. / 7));
  return k * ln2 + tables.log[i] + (r + r2 * (r * tail - 0.5));
}

// e^x = 2^(k + j/64) e^r, |r| <= ln2 / 128: Taylor to r^6 / 6!.
double fast_exponential(double x) {
  constexpr std::int64_t shift = 1 << 17;  // what is positive is cut downwards
  const std::int64_t whole = static_cast<std::int64_t>(x * (exp_steps / ln2) + (shift + 0.5)) - shift;
  const double r = x - static_cast<double>(whole) * (ln2 / exp_steps);
  const double power_of_2 = std::bit_cast<double>(static_cast<std::uint64_t>((whole >> 6) + bias) << 52);
  static_assert(exp_steps == 1 << 6);
  const double r2 = r * r;
  const double tail = (0.5 + r * (1. / 6)) + r2 * ((1. / 24 + r * (1. / 120)) + r2 * (1. / 720));
  const double fraction = tables.exp[static_cast<std::size_t>(whole & (exp_steps - 1))];
  return (fraction + fraction * (r + r2 * tail)) * power_of_2;
}

}  // namespace

double power(double base, double exponent) {
  if (base < std::numeric_limits<double>::min()) return exponential(exponent * logarithm(base));
  const double x = exponent * fast_logarithm(base);
  return std::abs(x) < 700 ? fast_exponential(x) : exponential(x);
}

}  // namespace moire::core
