// Numbers and words of foreign files.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace moire::importing {

// A whole number, decimal or 0x..., and nothing else.
inline std::optional<std::int64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// As it may stand in a YAML comment: printable ASCII, cut when long.
inline std::string printable(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string out;
  for (const char c : text.substr(0, longest)) out += c >= 0x20 && c < 0x7f ? c : '?';
  if (text.size() > longest) out += "...";
  return out;
}

}  // namespace moire::importing
