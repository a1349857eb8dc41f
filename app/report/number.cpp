#include "app/report/number.hpp"

#include <fmt/format.h>

#include <cmath>

namespace moire::report {

namespace {

std::string fixed(double value, int digits, bool sign) {
  return sign ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

std::string trimmed(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string telling(double value) {
  const double size = std::abs(value);
  if (size >= 1e5 || (value == std::floor(value) && size >= 1000)) return fixed(value, 0, false);
  if (size >= 1 || value == 0) return fixed(value, 2, false);
  return fmt::format("{:.3g}", value);
}

std::string digits_of(const Number& number) {
  const double value = number.value * number.scale + 0.0;  // never -0
  switch (number.style) {
    case Number::Style::fixed:
      return fixed(value, number.digits, number.sign);
    case Number::Style::nearest:
      return fixed(rounded(value, number.digits), number.digits, number.sign);
    case Number::Style::trimmed:
      return trimmed(fixed(value, number.digits, number.sign));
    case Number::Style::counted:
      return fixed(value, value == std::floor(value) ? 0 : number.digits, number.sign);
    case Number::Style::significant:
      return fmt::format("{:.{}g}", value, number.digits);
    case Number::Style::exponent:
      return fmt::format("{:.{}e}", value, number.digits);
    case Number::Style::telling:
      return telling(value);
  }
  return {};
}

}  // namespace

double rounded(double value, int decimals) {
  const double unit = std::pow(10, decimals);
  return std::round(value * unit) / unit + 0.0;
}

double Number::for_programs() const { return decimals ? rounded(value, *decimals) : value; }

std::string shown(const Number& number) { return digits_of(number) + (number.unit.empty() ? "" : " " + number.unit); }

TimeUnit unit_for(Time longest) {
  if (longest < Time::from_us(10'000)) return microseconds;
  if (longest < Time::from_seconds(10)) return {"ms", 1e9};
  return {"s", 1e12};
}

std::string plural(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace moire::report
