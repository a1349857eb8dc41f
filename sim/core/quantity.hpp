// Every kind of physical quantity is a type of its own, so that a bandwidth cannot be added to a latency.
//
// Time is an integer number of picoseconds: sums are exact, and equal times compare equal. All other quantities are
// doubles in the base unit that their name states.
//
// Times saturate at Time::max() instead of overflowing, and the calendar refuses that value.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace moire {

// A point in time or a duration in integer picoseconds; 2^63 ps is 106 days.
struct Time {
  std::int64_t ps = 0;

  static constexpr Time max() { return Time{std::numeric_limits<std::int64_t>::max()}; }
  // Truncates to whole picoseconds.
  static constexpr Time from_ps(double ps) { return ps < 0x1p63 ? Time{static_cast<std::int64_t>(ps)} : max(); }
  static constexpr Time from_ns(double ns) { return from_ps(ns * 1e3 + (ns < 0 ? -0.5 : 0.5)); }
  static constexpr Time from_us(double us) { return from_ns(us * 1e3); }
  static constexpr Time from_seconds(double s) { return from_ns(s * 1e9); }
  constexpr double ns() const { return static_cast<double>(ps) * 1e-3; }
  constexpr double us() const { return static_cast<double>(ps) * 1e-6; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Time o) const {
    Time sum;
    return __builtin_add_overflow(ps, o.ps, &sum.ps) ? max() : sum;
  }
  constexpr Time operator-(Time o) const { return Time{ps - o.ps}; }
  constexpr Time& operator+=(Time o) { return *this = *this + o; }
  constexpr Time operator*(std::int64_t n) const {
    Time product;
    return __builtin_mul_overflow(ps, n, &product.ps) ? max() : product;
  }
};

// A sum of many times, such as over all workgroups of a machine; it may exceed the range of Time.
class TimeSum {
 public:
  constexpr TimeSum& operator+=(Time t) {
    ps_ += t.ps;
    return *this;
  }
  constexpr TimeSum& operator+=(TimeSum o) {
    ps_ += o.ps_;
    return *this;
  }
  constexpr TimeSum operator*(std::int64_t n) const {
    TimeSum product = *this;
    product.ps_ *= n;
    return product;
  }
  constexpr double us() const { return static_cast<double>(ps_) * 1e-6; }
  constexpr bool operator==(const TimeSum&) const = default;

 private:
  __extension__ using Picoseconds = __int128;
  Picoseconds ps_ = 0;
};

// A real quantity of one dimension; Tag names the base unit.
template <class Tag>
struct Quantity {
  double value = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return {value + o.value}; }
  constexpr Quantity operator-(Quantity o) const { return {value - o.value}; }
  constexpr Quantity operator*(double k) const { return {value * k}; }
  constexpr Quantity operator/(double k) const { return {value / k}; }
  constexpr double operator/(Quantity o) const { return value / o.value; }
};

using Bytes = Quantity<struct BytesTag>;                    // bytes
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;  // bytes / s
using Flop = Quantity<struct FlopTag>;                      // floating-point operations
using FlopPerSecond = Quantity<struct FlopPerSecondTag>;    // floating-point operations / s
using PerSecond = Quantity<struct PerSecondTag>;            // events / s: message rate, clock (Hz)
using Watts = Quantity<struct WattsTag>;                    // W
using Joules = Quantity<struct JoulesTag>;                  // J

// Time to move `bytes` at `rate` > 0, rounded up to a whole picosecond so that no transfer ends early.
inline Time duration(Bytes bytes, BytesPerSecond rate) {
  return Time::from_ps(std::ceil(bytes.value * 1e12 / rate.value));
}

}  // namespace moire
