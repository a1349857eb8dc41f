#include "models/hardware/perturb/distribution.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "sim/config/spec.hpp"
#include "sim/core/power.hpp"

namespace moire::perturb {

namespace {

template <class T>
struct Kind;
template <>
struct Kind<Time> {
  static constexpr const char* word = "delay";
};
template <>
struct Kind<double> {
  static constexpr const char* word = "share";
};

template <class T, class Spec>
void bounded_field(config::Describer<Spec>& d, const char* key, T Spec::*member, const char* meaning) {
  auto field = d.field(key, member, meaning);
  if constexpr (std::same_as<T, double>) field.range(least_share, 1);
}

std::optional<config::Problem> exactly_one(int kinds, const char* which) {
  if (kinds == 1) return std::nullopt;
  return config::Problem{fmt::format("{} distributions are given", kinds), fmt::format("write one of {}", which)};
}

double base(Time time) { return static_cast<double>(time.ps); }
double base(double share) { return share; }

template <class T>
T from_base(double value) {
  if constexpr (std::same_as<T, Time>)
    return Time{std::llround(value)};
  else
    return value;
}

// Returns the p at which the quantile of the standard normal distribution is z.
double normal_share_below(double z) {
  double low = 0;
  double high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (normal_quantile(middle) < z ? low : high) = middle;
  }
  return (low + high) / 2;
}

double exponential(double x) {
  constexpr double e = 2.718281828459045;
  return core::power(e, x);
}

template <class T>
Quantile<T> cut_normal(double mean, double deviation, double from, double to) {
  if (deviation == 0) return [mean](double) { return from_base<T>(mean); };
  const double below = normal_share_below((from - mean) / deviation);
  const double within = normal_share_below((to - mean) / deviation) - below;
  return [=](double p) {
    return from_base<T>(std::min(to, std::max(from, mean + deviation * normal_quantile(below + p * within))));
  };
}

template <class T>
Quantile<T> uniform(const UniformSpec<T>& spec) {
  return [low = base(spec.from), width = base(spec.to) - base(spec.from)](double p) {
    return from_base<T>(low + p * width);
  };
}

template <class T>
Quantile<T> normal(const NormalSpec<T>& spec) {
  return cut_normal<T>(base(spec.mean), base(spec.deviation), base(spec.from), base(spec.to));
}

template <class T, class Spec>
Quantile<T> of_all_kinds(const Spec& spec) {
  if (spec.value) return [value = *spec.value](double) { return value; };
  if (spec.uniform) return uniform(*spec.uniform);
  return normal(*spec.normal);
}

}  // namespace

template <class T>
void UniformSpec<T>::describe(config::Describer<UniformSpec>& d) {
  d.component(fmt::format("uniform_{}", Kind<T>::word),
              "Uniform distribution: every value between two limits is equally likely.");
  bounded_field(d, "from", &UniformSpec::from, "Smallest value");
  bounded_field(d, "to", &UniformSpec::to, "Largest value");
  d.check("to", [](const UniformSpec& s) -> std::optional<config::Problem> {
    if (s.from <= s.to) return std::nullopt;
    return config::Problem{"'to' is below 'from'", "write the smaller value first"};
  });
}

template <class T>
void NormalSpec<T>::describe(config::Describer<NormalSpec>& d) {
  d.component(fmt::format("normal_{}", Kind<T>::word),
              "Normal distribution that is truncated: a value outside of [from, to] is drawn again.");
  bounded_field(d, "mean", &NormalSpec::mean,
                "Mean of the distribution before truncation; it lies between from and to");
  auto deviation =
      d.field("deviation", &NormalSpec::deviation, "Standard deviation of the distribution before truncation");
  if constexpr (std::same_as<T, double>) deviation.range(0, 1);
  bounded_field(d, "from", &NormalSpec::from, "Smallest value");
  bounded_field(d, "to", &NormalSpec::to, "Largest value");
  d.check("mean", [](const NormalSpec& s) -> std::optional<config::Problem> {
    if (s.from <= s.mean && s.mean <= s.to) return std::nullopt;
    return config::Problem{"the mean is not between 'from' and 'to'",
                           "truncate the distribution on both sides of its mean"};
  });
}

void ExponentialSpec::describe(config::Describer<ExponentialSpec>& d) {
  d.component("exponential_delay", "Exponential distribution: most values are short, a few are long.");
  d.field("mean", &ExponentialSpec::mean, "Mean of the distribution before truncation").positive();
  d.field("to", &ExponentialSpec::to, "Largest value: a larger one is drawn again; at least the mean").optional();
  d.check("to", [](const ExponentialSpec& s) -> std::optional<config::Problem> {
    if (!s.to || s.mean <= *s.to) return std::nullopt;
    return config::Problem{"'to' is below the mean", "truncate the distribution at its mean or above"};
  });
}

void LognormalSpec::describe(config::Describer<LognormalSpec>& d) {
  d.component("lognormal_delay",
              "Lognormal distribution: the logarithm is normal, so that there is a long tail of late values.");
  d.field("median", &LognormalSpec::median, "Median of the distribution before truncation").positive();
  d.field("sigma", &LognormalSpec::sigma,
          "Standard deviation of the logarithm: with 1, one value in six is above 2.7 medians")
      .range(0, 5);
  d.field("to", &LognormalSpec::to, "Largest value: a larger one is drawn again; at least the median").optional();
  d.check("to", [](const LognormalSpec& s) -> std::optional<config::Problem> {
    if (!s.to || s.median <= *s.to) return std::nullopt;
    return config::Problem{"'to' is below the median", "truncate the distribution at its median or above"};
  });
}

void DelaySpec::describe(config::Describer<DelaySpec>& d) {
  d.component("delay_distribution", "Delays that are fixed or drawn; write exactly one kind.");
  d.field("value", &DelaySpec::value, "The same value for all");
  d.field("uniform", &DelaySpec::uniform, "Values that are uniform between two limits");
  d.field("normal", &DelaySpec::normal, "Values around a mean");
  d.field("exponential", &DelaySpec::exponential, "Many short values and few long ones");
  d.field("lognormal", &DelaySpec::lognormal, "Values with a long tail");
  d.check([](const DelaySpec& s) {
    return exactly_one(s.value.has_value() + s.uniform.has_value() + s.normal.has_value() + s.exponential.has_value() +
                           s.lognormal.has_value(),
                       "value, uniform, normal, exponential, lognormal");
  });
}

void ShareSpec::describe(config::Describer<ShareSpec>& d) {
  d.component("share_distribution",
              "Shares, at most 1, of the value in a part's file, which are fixed or drawn; write exactly one kind.");
  d.field("value", &ShareSpec::value, "The same value for all").range(least_share, 1);
  d.field("uniform", &ShareSpec::uniform, "Values that are uniform between two limits");
  d.field("normal", &ShareSpec::normal, "Values around a mean");
  d.check([](const ShareSpec& s) {
    return exactly_one(s.value.has_value() + s.uniform.has_value() + s.normal.has_value(), "value, uniform, normal");
  });
}

Quantile<double> quantile(const ShareSpec& spec) { return of_all_kinds<double>(spec); }

Quantile<Time> quantile(const DelaySpec& spec) {
  if (spec.exponential) {
    const double mean = base(spec.exponential->mean);
    constexpr double far = 100;  // in means of the distribution; no draw is that large
    const double cut = spec.exponential->to ? base(*spec.exponential->to) / mean : far;
    const double within = cut < far ? 1 - exponential(-cut) : 1;
    return [mean, within](double p) { return from_base<Time>(-mean * core::logarithm(1 - p * within)); };
  }
  if (spec.lognormal) {
    const double median = base(spec.lognormal->median);
    const double sigma = spec.lognormal->sigma;
    const bool cut = spec.lognormal->to && sigma > 0;
    const double within = cut ? normal_share_below(core::logarithm(base(*spec.lognormal->to) / median) / sigma) : 1;
    return [=](double p) { return from_base<Time>(median * exponential(sigma * normal_quantile(p * within))); };
  }
  return of_all_kinds<Time>(spec);
}

// P. J. Acklam's rational approximations of the normal quantile (relative error below 1.15e-9), one for the middle and
// one for the tails.
double normal_quantile(double p) {
  constexpr std::array<double, 6> a = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                       1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array<double, 6> b = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                       6.680131188771972e+01,  -1.328068155288572e+01, 1};
  constexpr std::array<double, 6> c = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                       -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array<double, 5> d = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                       3.754408661907416e+00, 1};
  const auto polynomial = [](const auto& coefficients, double x) {
    double sum = 0;
    for (const double coefficient : coefficients) sum = sum * x + coefficient;
    return sum;
  };
  constexpr double tail = 0.02425;
  if (p > 0.5) return -normal_quantile(1 - p);
  if (p < tail) {
    const double q = std::sqrt(-2 * core::logarithm(std::max(p, 1e-300)));
    return polynomial(c, q) / polynomial(d, q);
  }
  const double q = p - 0.5;
  return q * polynomial(a, q * q) / polynomial(b, q * q);
}

double uniform_of(std::uint64_t seed, std::uint64_t kind, std::uint64_t entry, std::uint64_t unit) {
  std::uint64_t x = seed;
  for (const std::uint64_t word : {kind, entry, unit}) {  // splitmix64, one word per step
    x = (x + word + 1) * 0x9E3779B97F4A7C15ULL;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
    x ^= x >> 31;
  }
  return (static_cast<double>(x >> 11) + 0.5) * 0x1p-53;
}

template struct UniformSpec<Time>;
template struct UniformSpec<double>;
template struct NormalSpec<Time>;
template struct NormalSpec<double>;

}  // namespace moire::perturb
