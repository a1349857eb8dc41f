// Distributions of delays and of shares of a clock or bandwidth, as quantile functions. Each part has a number in (0,
// 1) that determines its value. So a part keeps its position in the order of all values when a parameter changes.
// Values are the same to the last bit on every computer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::perturb {

// The smallest share of a clock or a bandwidth. A part with less counts as broken, not as slow.
constexpr double least_share = 0.01;

// T: Time for delays, double for fractions of a clock or a bandwidth.
template <class T>
struct UniformSpec {
  T from{};
  T to{};
  static void describe(config::Describer<UniformSpec>& d);
};

// Truncated to [from, to], which must contain the mean.
template <class T>
struct NormalSpec {
  T mean{};
  T deviation{};  // before truncation
  T from{};
  T to{};
  static void describe(config::Describer<NormalSpec>& d);
};

// Truncated at `to`, if given; `mean` is the mean before truncation.
struct ExponentialSpec {
  Time mean;
  std::optional<Time> to;
  static void describe(config::Describer<ExponentialSpec>& d);
};

// e^(ln(median) + sigma x standard normal), truncated at `to`, if given.
struct LognormalSpec {
  Time median;
  double sigma = 0;
  std::optional<Time> to;
  static void describe(config::Describer<LognormalSpec>& d);
};

// Exactly one of the members is set.
struct DelaySpec {
  std::optional<Time> value;
  std::optional<UniformSpec<Time>> uniform;
  std::optional<NormalSpec<Time>> normal;
  std::optional<ExponentialSpec> exponential;
  std::optional<LognormalSpec> lognormal;
  static void describe(config::Describer<DelaySpec>& d);
};
struct ShareSpec {
  std::optional<double> value;
  std::optional<UniformSpec<double>> uniform;
  std::optional<NormalSpec<double>> normal;
  static void describe(config::Describer<ShareSpec>& d);
};

// Maps p in (0, 1) to the value below which a fraction p of all draws lies.
template <class T>
using Quantile = std::function<T(double p)>;
Quantile<Time> quantile(const DelaySpec& spec);
Quantile<double> quantile(const ShareSpec& spec);

// Quantile of the standard normal distribution; relative error below 2e-9.
double normal_quantile(double p);

// A uniform number in (0, 1) for part `unit` in entry `entry` of list `kind` (of `perturb`). It does not depend on
// other entries and parts.
double uniform_of(std::uint64_t seed, std::uint64_t kind, std::uint64_t entry, std::uint64_t unit);

}  // namespace moire::perturb
