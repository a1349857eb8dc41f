// Parses numbers in texts that other programs write. A text must contain the number and nothing else. The caller
// handles the meaning and the unit of the number, and writes the messages about its range.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>

namespace moire::formats {

// Result of parsing a number.
enum class Digits {
  good,
  none,          // not a number
  out_of_range,  // a number, but below `least`, above `most` or outside the range of the type
};

template <class Number>
Digits parse_number(std::string_view text, Number& out, int base = 10) requires std::is_integral_v<Number> {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return Digits::none;
  if (error != std::errc()) return Digits::out_of_range;
  out = value;
  return Digits::good;
}

template <class Number>
Digits parse_number(std::string_view text, Number& out) requires std::is_floating_point_v<Number> {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return Digits::none;
  if (error != std::errc() || !std::isfinite(value)) return Digits::out_of_range;
  out = value;
  return Digits::good;
}

template <class Number>
Digits parse_number(std::string_view text, Number& out, std::type_identity_t<Number> least,
                    std::type_identity_t<Number> most) {
  Number value{};
  const Digits digits = parse_number(text, value);
  if (digits != Digits::good) return digits;
  if (value < least || value > most) return Digits::out_of_range;
  out = value;
  return Digits::good;
}

// Returns nothing if the text is not a number of this type. Floating-point numbers must be finite.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  if (parse_number(text, value) != Digits::good) return std::nullopt;
  return value;
}

// Parses an integer in decimal, or in hexadecimal as 0x...
template <class Number>
std::optional<Number> any_base_number_in(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  Number value{};
  if (hex && text.substr(2).starts_with('-')) return std::nullopt;
  if (parse_number(hex ? text.substr(2) : text, value, hex ? 16 : 10) != Digits::good) return std::nullopt;
  return value;
}

}  // namespace moire::formats
