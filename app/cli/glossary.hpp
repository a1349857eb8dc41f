// Words of the field and of Moire that are neither a component, a key nor a metric.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace moire::cli {

const std::vector<std::pair<std::string_view, std::string_view>>& glossary();

}  // namespace moire::cli
