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
  // A file included twice, or an aliased value, is read twice.
  std::set<std::string> told;
  std::erase_if(all, [&told](const Diagnostic& d) { return !told.insert(d.str()).second; });
  return all;
}

std::string lines(const std::vector<Diagnostic>& all) {
  std::string out;
  for (const Diagnostic& d : all) out += d.str() + "\n";
  return out;
}

}  // namespace

std::string Place::str() const {
  if (!source) return {};
  if (!source->has_lines || line <= 0) return source->name;
  return fmt::format("{}:{}:{}", source->name, line, col);
}

std::string Diagnostic::str() const {
  std::string out = place.str();
  if (!out.empty()) out += ": ";
  if (warning) out += "warning: ";
  return out + Problem{what, remedy}.str();
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

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > longest) out += "...";
  return out + "'";
}

}  // namespace moire::config
