// Files that come from outside: as a whole, or as a stream.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::formats {

// What a reader says where a file cannot be read: the place is the file itself, or where its name was written.
struct FileAsked {
  std::filesystem::path file;
  std::optional<config::Place> place = {};  // of the name; absent: the file, and its name is left out of the text
  std::string remedy = {};                  // where it is not there; "" : a general one
};

// The bytes of a file. A name that ends in .zst is zstd-compressed. Nothing, and the reason, where it is not there, a
// folder, unreadable, or of more than `most` bytes.
std::optional<std::string> read_file(const FileAsked& asked, std::uintmax_t most, config::Diagnostics& diagnostics);

// The open file, its bytes as they are. Nothing, and the reason, where there is none to read.
std::unique_ptr<std::istream> open_file(const FileAsked& asked, config::Diagnostics& diagnostics);

}  // namespace moire::formats
