// Writes a system file whose comments say where its values come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace moire::importing {

struct SystemFile {
  std::string title;               // first line of the comment
  std::vector<std::string> facts;  // what the imported file states
  std::vector<std::string> notes;  // what the system lacks, or states differently
  std::string description;
  std::int64_t gpus = 1;
  std::filesystem::path gpu;
  std::string wiring;
  std::int64_t links_per_pair = 0;  // in a full mesh; 0: no mesh
  std::int64_t nics = 0;
  std::filesystem::path nic;
  std::filesystem::path library;  // empty: none
};

// Makes a text of the dump safe for a comment: printable ASCII, shortened if it is long.
std::string printable(std::string_view text);

// Wraps text at spaces; every line but the first starts with `rest`.
std::string wrapped(const std::string& text, const std::string& first, const std::string& rest);

// Returns the text of the file. Its paths are relative to `folder`.
std::string to_yaml(const SystemFile& system, const std::filesystem::path& folder);

}  // namespace moire::importing
