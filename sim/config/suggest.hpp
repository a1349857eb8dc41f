// Suggestions for mistyped words: "did you mean ...".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace moire::config {

// Returns the Damerau-Levenshtein distance of two words: the number of insertions, deletions, substitutions and swaps
// of neighbouring letters that turn one word into the other. The case of letters does not count.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate with the smallest edit distance from `word`, if the distance is small enough for a typing
// error.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns "did you mean 'x'?" if a candidate x is near to `word`, else "<label>: a, b, c" with the candidates (the
// first ten if there are more than 100), or "" if there are no candidates.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates, std::string_view label);

std::string join(const std::vector<std::string>& words, std::string_view separator = ", ");

}  // namespace moire::config
