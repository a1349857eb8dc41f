#include "sim/config/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace moire::config {

namespace {

std::string file_of(const Place& place) { return place.source ? place.source->name : std::string(); }

std::vector<Diagnostic> in_order(std::vector<Diagnostic> all) {
  std::map<std::string, std::size_t> rank;
  for (const Diagnostic& d : all) rank.emplace(file_of(d.place), rank.size());
  std::stable_sort(all.begin(), all.end(), [&rank](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(rank.at(file_of(a.place)), a.place.line, a.place.col) <
           std::tuple(rank.at(file_of(b.place)), b.place.line, b.place.col);
  });
  // The same error may be reported twice, because a file that is included twice, or a value with an alias, is read
  // twice.
  std::set<std::string> told;
  std::erase_if(all, [&told](const Diagnostic& d) { return !told.insert(d.str()).second; });
  return all;
}

std::string lines(const std::vector<Diagnostic>& all) {
  std::string out;
  for (const Diagnostic& d : all) {
    if (&d - all.data() == Diagnostics::told)
      return out + fmt::format("and {} more\n", fmt::group_digits(all.size() - Diagnostics::told));
    out += d.str() + "\n";
  }
  return out;
}

// Returns the number of bytes of the first character of a text, or 0 if this character is not valid UTF-8 (Unicode
// standard, table 3-7).
std::size_t character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool none = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);  // surrogates, beyond Unicode
  return overlong || none ? 0 : size;
}

}  // namespace

std::string Place::str() const {
  if (!source) return {};
  if (!source->has_lines || line <= 0) return source->name;
  return fmt::format("{}:{}:{}", source->name, line, col);
}

Place place_in(std::shared_ptr<const Source> source, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
  return {std::move(source), static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(at - line_start) + 1};
}

std::string Diagnostic::str() const {
  std::string out = place.str();
  if (!out.empty()) out += ": ";
  if (warning) out += "warning: ";
  return printable(out + Problem{what, remedy}.str());
}

void Diagnostics::error(const Place& place, std::string what, std::string remedy) {
  all_.push_back({place, std::move(what), std::move(remedy)});
}

void Diagnostics::error(const Place& place, Problem problem) {
  error(place, std::move(problem.what), std::move(problem.remedy));
}

void Diagnostics::warning(const Place& place, std::string what, std::string remedy) {
  warnings_.push_back({place, std::move(what), std::move(remedy), true});
}

std::vector<Diagnostic> Diagnostics::sorted() const { return in_order(all_); }
std::string Diagnostics::str() const { return lines(sorted()); }
std::string Diagnostics::warnings() const { return lines(in_order(warnings_)); }

std::size_t valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = character(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::string printable(std::string_view text) {
  std::string out;
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  while (true) {
    const auto other = std::find_if_not(text.begin(), text.end(), plain);
    out.append(text.begin(), other);
    text.remove_prefix(static_cast<std::size_t>(other - text.begin()));
    if (text.empty()) return out;
    const std::size_t size = character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // The second range of control characters is U+0080 to U+009F.
    const bool control = first < 0x20 || first == 0x7f || (first == 0xc2 && size == 2 && text[1] < '\xa0');
    for (const char c : text.substr(0, std::max<std::size_t>(size, 1))) {
      if (size == 0 || control) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t end = std::min(text.size(), longest);
  while (end < text.size() && end > longest - 4 && (text[end] & '\xc0') == '\x80') --end;  // do not cut a character
  return "'" + printable(text.substr(0, end)) + (end < text.size() ? "..." : "") + "'";
}

}  // namespace moire::config
