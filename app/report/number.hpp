// A number, and how people read it: the one place where digits, units and signs are put to numbers.
#pragma once

#include <optional>
#include <string>

#include "sim/core/quantity.hpp"

namespace moire::report {

struct Number {
  enum class Style {
    fixed,        // `digits` decimals
    nearest,      // the same, halves away from zero, and what is rounded to nothing has no minus
    trimmed,      // `digits` decimals at most: none that are 0 at the end
    counted,      // whole numbers without decimals, all others with `digits`
    significant,  // `digits` significant ones
    exponent,     // "1.23e+07", `digits` decimals
    telling,      // two decimals; three significant digits below 1, none behind the point of large and whole numbers
  };
  double value = 0;  // what programs read, in their unit
  std::string unit = {};
  int digits = 2;
  Style style = Style::fixed;
  bool sign = false;                 // a plus before what is not negative
  double scale = 1;                  // people read value x scale: 100 for a share in percent
  std::optional<int> decimals = {};  // of what programs read; none: all that tell the value from its neighbours
  bool whole_where_it_is = false;    // programs read a whole number without a point

  double for_programs() const;
};

// As people read it: "43.12 us", "+3.1 %".
std::string shown(const Number& number);

// To `decimals`, halves away from zero, never -0: more digits of an error say nothing and change with the order of a
// sum.
double rounded(double value, int decimals);

// Times of a whole table in one unit, so that a column can be compared at a glance.
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

// A ratio that people read in percent.
inline Number share(double ratio) { return {.value = ratio, .unit = "%", .digits = 1, .scale = 100}; }
inline Number signed_share(double ratio) {
  Number number = share(ratio);
  number.sign = true;
  return number;
}

// "1 run", "2 runs".
std::string plural(std::size_t count, const std::string& what);

}  // namespace moire::report
