// Distributions of delays and of shares of a clock or bandwidth, as quantile functions. Each rank, GPU, NIC or link has
// a number in (0, 1) to which the quantile function is applied. So it keeps its position in the order of all values
// when a parameter of the distribution changes. Values are the same to the last bit on every computer.
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

// The smallest share of a clock or a bandwidth. A GPU, NIC or link with a smaller share would be broken, not slow.
constexpr double least_share = 0.01;

// T is Time for delays, and double for shares of a clock or a bandwidth.
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

// The distribution of e^(ln(median) + sigma x z), where z is normal with mean 0 and deviation 1. Truncated at `to`, if
// given.
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

// A function that maps p in (0, 1) to the value below which a fraction p of all draws lies.
template <class T>
using Quantile = std::function<T(double p)>;
Quantile<Time> quantile(const DelaySpec& spec);
Quantile<double> quantile(const ShareSpec& spec);

// Returns the quantile of the standard normal distribution at p, with a relative error below 2e-9.
double normal_quantile(double p);

// Returns a uniform random number in (0, 1). It depends only on the arguments: `kind` is the number of a list of
// `perturb`, `entry` the index of an entry in this list, and `unit` the index of a rank, NIC or link.
double uniform_of(std::uint64_t seed, std::uint64_t kind, std::uint64_t entry, std::uint64_t unit);

}  // namespace moire::perturb
