#include "sim/core/invariant.hpp"

#include <fmt/format.h>

namespace moire::core {

void invariant_failed(const char* condition, const std::string& what, const char* file, int line) {
  throw InvariantError(fmt::format("{}:{}: {} ({})", file, line, what, condition));
}

}  // namespace moire::core
