// A number of a report, and how people read it. Other code states style, digits and unit, and only this file writes
// them.
#pragma once

#include <optional>
#include <string>

#include "sim/core/quantity.hpp"

namespace moire::report {

struct Number {
  enum class Style {
    fixed,        // `digits` decimals
    nearest,      // the same, but halves round away from zero, and there is no -0
    trimmed,      // at most `digits` decimals, without trailing zeros
    counted,      // whole numbers without decimals, others with `digits`
    significant,  // `digits` significant digits
    exponent,     // "1.23e+07", `digits` decimals
    telling,      // no decimals from 100,000, nor for whole numbers from 1000; else 2; below 1: 3 significant digits
  };
  double value = 0;  // the number that programs read
  std::string unit = {};
  int digits = 2;
  Style style = Style::fixed;
  bool sign = false;                 // write a plus if not negative
  double scale = 1;                  // people read value x scale: 100 for a ratio in percent
  std::optional<int> decimals = {};  // for programs; absent: as many as identify the value
  bool whole_where_it_is = false;    // programs read a whole number without a decimal point

  double for_programs() const;
};

// Returns the text that people read, such as "43.12 us" or "+3.1 %".
std::string shown(const Number& number);

// Rounds to `decimals` decimals, halves away from zero, and never to -0. Errors of validations and fits are rounded
// because their further digits mean nothing and depend on the order in which they are summed.
double rounded(double value, int decimals);

// The unit of all times of a table. A common unit lets the reader compare the times of a column at a glance.
struct TimeUnit {
  std::string name;
  double ps;
};
TimeUnit unit_for(Time longest);
inline Number in_unit(Time time, const TimeUnit& unit) {
  return {.value = static_cast<double>(time.ps) / unit.ps, .unit = unit.name};
}
inline const TimeUnit microseconds = {"us", 1e6};
inline Number in_us(Time time) { return in_unit(time, microseconds); }

inline Number percent(double value) { return {.value = value, .unit = "%", .digits = 1}; }
inline Number factor(double value) { return {.value = value, .unit = "x", .digits = 3}; }

// Returns the number for a ratio, which people read in percent. signed_share() also writes a plus if it is not
// negative.
inline Number share(double ratio) { return {.value = ratio, .unit = "%", .digits = 1, .scale = 100}; }
inline Number signed_share(double ratio) {
  Number number = share(ratio);
  number.sign = true;
  return number;
}

// Returns the count and the noun: "1 run", "2 runs".
std::string plural(std::size_t count, const std::string& what);

}  // namespace moire::report
