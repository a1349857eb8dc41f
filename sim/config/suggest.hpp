// Suggestions for mistyped words: "did you mean ...".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moire::config {

// Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours; ignores letter case.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest edit distance, if the distance is small enough for a typing error.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean 'x'?", else "<label>: a, b, c", else "".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, std::string_view label);

std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

}  // namespace moire::config
