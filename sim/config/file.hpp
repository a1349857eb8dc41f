// Reads input files as raw bytes. sim/formats/file.hpp reads compressed files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::config {

// An input file, and how to report that it cannot be read.
struct FileAsked {
  std::filesystem::path file;
  std::optional<Place> place = {};  // where the file's name was written; if absent, errors refer to the file itself
  std::string remedy = {};          // what to do if the file does not exist; if empty, a general remedy is used
  std::string when_large = "no file of this kind is that large";
};

void refuse(const FileAsked& asked, const std::string& what, const std::string& remedy, Diagnostics& diagnostics);

// Opens a file. Returns null and reports why if it cannot be read: missing, a folder, a pipe, no permission.
std::unique_ptr<std::istream> open_file(const FileAsked& asked, Diagnostics& diagnostics);

// Reads a whole file. Returns nothing and reports why if it cannot be read, has more than `most` bytes, or is not
// UTF-8.
std::optional<std::string> read_plain(const FileAsked& asked, std::uintmax_t most, Diagnostics& diagnostics);
// Does the same with a file that is already open. The function `next` reads up to `size` bytes of the file into `block`
// and returns their number, or 0 at the end; it may decompress the bytes.
std::optional<std::string> read_blocks(const FileAsked& asked, std::istream& in, std::uintmax_t most,
                                       const std::function<std::size_t(char* block, std::size_t size)>& next,
                                       Diagnostics& diagnostics);

}  // namespace moire::config
