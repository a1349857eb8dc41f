// A system file with what was taken from where in its comments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace moire::importing {

struct SystemFile {
  std::string title;               // first comment
  std::vector<std::string> facts;  // what the source says
  std::vector<std::string> notes;  // what the system does not say, or says otherwise
  std::string description;
  std::int64_t gpus = 1;
  std::filesystem::path gpu;
  std::string wiring;
  std::int64_t links_per_pair = 0;  // of a full mesh; 0: no mesh
  std::int64_t nics = 0;
  std::filesystem::path nic;
  std::filesystem::path library;  // empty: none
};

// Foreign text as it may stand in a comment of the file: printable ASCII, cut when long.
std::string printable(std::string_view text);

// Paths are written relative to `folder`.
std::string to_yaml(const SystemFile& system, const std::filesystem::path& folder);

}  // namespace moire::importing
