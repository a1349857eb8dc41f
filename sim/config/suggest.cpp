#include "sim/config/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace moire::config {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the Damerau-Levenshtein table (optimal string alignment).
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 100;  // longer words are not typing errors, and the table is quadratic
  if (word.empty() || word.size() > longest) return std::nullopt;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), word.size()) - std::min(candidate.size(), word.size());
    if (candidate.size() > longest || longer >= best) continue;  // the distance is at least `longer`
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, std::string_view label) {
  if (const auto near = nearest(word, candidates)) return fmt::format("did you mean '{}'?", *near);
  if (candidates.empty()) return {};
  constexpr std::size_t most = 100;
  if (candidates.size() <= most) return fmt::format("{}: {}", label, join(candidates));
  return fmt::format("{}: {}, ... and {} more", label, join({candidates.begin(), candidates.begin() + 10}),
                     candidates.size() - 10);
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace moire::config
