// Distributions that parts of a machine are drawn from, as their quantiles: one number in (0, 1) for each part decides,
// so that a part keeps its place among the others when a parameter is changed. The same bits on every machine.
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

// T: Time for delays, double for shares of a clock or a bandwidth.
template <class T>
struct UniformSpec {
  T from{};
  T to{};
  static void describe(config::Describer<UniformSpec>& d);
};

// Cut to [from, to], which holds the mean.
template <class T>
struct NormalSpec {
  T mean{};
  T deviation{};  // of what is not cut
  T from{};
  T to{};
  static void describe(config::Describer<NormalSpec>& d);
};

// Cut at `to`, where it is there; the mean is that of what is not cut.
struct ExponentialSpec {
  Time mean;
  std::optional<Time> to;
  static void describe(config::Describer<ExponentialSpec>& d);
};

// e^(ln(median) + sigma x normal), cut at `to`, where it is there.
struct LognormalSpec {
  Time median;
  double sigma = 0;
  std::optional<Time> to;
  static void describe(config::Describer<LognormalSpec>& d);
};

// Exactly one of them.
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

// p in (0, 1) to the value that a share p of all draws lies below.
template <class T>
using Quantile = std::function<T(double p)>;
Quantile<Time> quantile(const DelaySpec& spec);
Quantile<double> quantile(const ShareSpec& spec);

// Of the standard normal distribution; relative error below 2e-9.
double normal_quantile(double p);

// A number in (0, 1) that the seed gives to part `unit` of entry `entry` of list `kind`: no other entry or part moves
// it.
double uniform_of(std::uint64_t seed, std::uint64_t kind, std::uint64_t entry, std::uint64_t unit);

}  // namespace moire::perturb
