// Files that come from outside, compressed or not.
#pragma once

#include "sim/config/file.hpp"

namespace moire::formats {

using config::FileAsked;
using config::open_file;

// The bytes of a file, as config::read_plain. A name that ends in .zst is zstd-compressed.
std::optional<std::string> read_file(const FileAsked& asked, std::uintmax_t most, config::Diagnostics& diagnostics);

}  // namespace moire::formats
