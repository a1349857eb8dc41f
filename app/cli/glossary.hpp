// The terms that `moire explain` knows in addition to components, keys and metrics.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace moire::cli {

// Returns pairs of a term and its meaning.
const std::vector<std::pair<std::string_view, std::string_view>>& glossary();

}  // namespace moire::cli
