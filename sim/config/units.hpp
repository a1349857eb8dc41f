// Converts text with a unit to a quantity and back: `64 MiB`, `200 Gb/s`, `2.5 us`, `989 TFLOP/s`, `1.98 GHz`, `92 %`.
//
// The prefixes k M G T P E Z are powers of 1000, and Ki Mi Gi Ti Pi are powers of 1024. B is a byte. b is a bit, which
// only rates may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/problem.hpp"
#include "sim/core/quantity.hpp"

namespace moire::config {

// The base units are, in the order of the enumerators: ps, B, B/s, FLOP, FLOP/s, 1/s, W, J, 1.
enum class Dimension { time, bytes, bytes_per_second, flop, flop_per_second, per_second, power, energy, ratio };

// The range of non-zero values in all machines, programs and measurements, in base units. A value outside of this range
// is treated as a mistake of the user; calculations with it would be meaningless.
struct Bounds {
  double least;
  double most;
};
Bounds bounds_of(Dimension dimension);

// Sets `value` to the quantity in base units, which may be negative. Returns nothing if the text is valid, else the
// problem.
std::optional<Problem> parse_quantity(std::string_view text, Dimension dimension, double& value);

std::string format_quantity(double value, Dimension dimension);  // 67108864 -> "64 MiB"
std::string_view dimension_name(Dimension dimension);            // "bandwidth"
std::string_view dimension_example(Dimension dimension);         // "200 GB/s"
std::vector<std::string> dimension_units(Dimension dimension);   // the usual units, for help

template <class Q>
struct DimensionOf;
template <>
struct DimensionOf<Time> {
  static constexpr Dimension value = Dimension::time;
};
template <>
struct DimensionOf<Bytes> {
  static constexpr Dimension value = Dimension::bytes;
};
template <>
struct DimensionOf<BytesPerSecond> {
  static constexpr Dimension value = Dimension::bytes_per_second;
};
template <>
struct DimensionOf<Flop> {
  static constexpr Dimension value = Dimension::flop;
};
template <>
struct DimensionOf<FlopPerSecond> {
  static constexpr Dimension value = Dimension::flop_per_second;
};
template <>
struct DimensionOf<PerSecond> {
  static constexpr Dimension value = Dimension::per_second;
};

template <>
struct DimensionOf<Watts> {
  static constexpr Dimension value = Dimension::power;
};
template <>
struct DimensionOf<Joules> {
  static constexpr Dimension value = Dimension::energy;
};

template <class Q>
concept HasDimension = requires {
  DimensionOf<Q>::value;
};

constexpr double in_base_units(Time t) { return static_cast<double>(t.ps); }
template <class Tag>
constexpr double in_base_units(Quantity<Tag> q) {
  return q.value;
}

template <HasDimension Q>
Q from_base_units(double value) {
  if constexpr (std::is_same_v<Q, Time>) {
    return Time::from_ps(std::round(value));
  } else {
    return Q{value};
  }
}

template <HasDimension Q>
std::optional<Problem> parse_quantity(std::string_view text, Q& out) {
  double value = 0;
  auto problem = parse_quantity(text, DimensionOf<Q>::value, value);
  if (!problem) out = from_base_units<Q>(value);
  return problem;
}

template <HasDimension Q>
std::string format_quantity(Q quantity) {
  return format_quantity(in_base_units(quantity), DimensionOf<Q>::value);
}

}  // namespace moire::config
