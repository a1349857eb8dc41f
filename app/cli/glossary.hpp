// Terms of the field and of Moire that are not components, keys or metrics.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace moire::cli {

const std::vector<std::pair<std::string_view, std::string_view>>& glossary();

}  // namespace moire::cli
