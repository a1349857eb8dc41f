// A foreign file as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::importing {

// Nothing, and the reason, where it cannot be read or is larger than `most` bytes.
std::optional<std::string> read_text_file(const std::string& file, std::uintmax_t most,
                                          config::Diagnostics& diagnostics);

}  // namespace moire::importing
