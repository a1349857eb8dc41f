// Files that come from outside, their bytes as they are. What is compressed is read by sim/formats/file.hpp.
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

// What a reader says where a file cannot be read: the place is the file itself, or where its name was written.
struct FileAsked {
  std::filesystem::path file;
  std::optional<Place> place = {};  // of the name; absent: the file, and its name is left out of the text
  std::string remedy = {};          // where it is not there; "": a general one
  std::string when_large = "no file of this kind is";
};

void refuse(const FileAsked& asked, const std::string& what, const std::string& remedy, Diagnostics& diagnostics);

// The open file. Nothing, and the reason, where there is none to read: it is not there, a folder, a pipe, unreadable.
std::unique_ptr<std::istream> open_file(const FileAsked& asked, Diagnostics& diagnostics);

// Whole. Nothing, and the reason, also where it has more than `most` bytes, or is no UTF-8.
std::optional<std::string> read_plain(const FileAsked& asked, std::uintmax_t most, Diagnostics& diagnostics);
// The same of a file that is open, block by block: `next` fills a block, and says how many bytes it got.
std::optional<std::string> read_blocks(const FileAsked& asked, std::istream& in, std::uintmax_t most,
                                       const std::function<std::size_t(char* block, std::size_t size)>& next,
                                       Diagnostics& diagnostics);

}  // namespace moire::config
