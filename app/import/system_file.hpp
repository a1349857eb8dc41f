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
  std::vector<std::string> notes;  // what the system file leaves out, or states differently
  std::string description;
  std::int64_t gpus = 1;
  std::filesystem::path gpu;
  std::string wiring;
  std::int64_t links_per_pair = 0;  // links between two GPUs of a full mesh; 0: the wiring is no full mesh
  std::int64_t nics = 0;
  std::filesystem::path nic;
  std::filesystem::path library;  // empty: none
};

// Returns a text of the dump in a form that is safe in a comment: only printable ASCII, and at most 80 characters and
// "...".
std::string printable(std::string_view text);

// Returns the text with lines of at most 118 columns, broken at spaces. The first line starts with `first`, every other
// line with `rest`.
std::string wrapped(const std::string& text, const std::string& first, const std::string& rest);

// Returns the text of the file. Its paths are relative to `folder`.
std::string to_yaml(const SystemFile& system, const std::filesystem::path& folder);

}  // namespace moire::importing
