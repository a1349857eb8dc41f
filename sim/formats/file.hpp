// Reads input files, compressed or not.
#pragma once

#include "sim/config/file.hpp"

namespace moire::formats {

using config::FileAsked;
using config::open_file;

// Reads a whole file, like config::read_plain. A file whose name ends in .zst is decompressed.
std::optional<std::string> read_file(const FileAsked& asked, std::uintmax_t most, config::Diagnostics& diagnostics);

}  // namespace moire::formats
