// Keeps track of the files that this command has read, so that it never overwrites one of its inputs.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

namespace moire::process {

namespace detail {
inline std::map<std::pair<dev_t, ino_t>, std::filesystem::path> files_read;
}  // namespace detail

inline void note_input(const std::filesystem::path& file) {
  struct stat known {};
  if (stat(file.c_str(), &known) == 0 && S_ISREG(known.st_mode))
    detail::files_read.try_emplace({known.st_dev, known.st_ino}, file);
}

inline bool is_input(const struct stat& file) { return detail::files_read.contains({file.st_dev, file.st_ino}); }

// Returns the paths of all inputs, sorted so that the result is deterministic.
inline std::vector<std::filesystem::path> inputs() {
  std::vector<std::filesystem::path> files;
  for (const auto& [file, path] : detail::files_read) files.push_back(path);
  std::sort(files.begin(), files.end());
  return files;
}

// Permits the command to replace a file that it has read. Used for files whose content the command computes anew.
inline void may_be_replaced(const std::filesystem::path& file) {
  struct stat known {};
  if (stat(file.c_str(), &known) == 0) detail::files_read.erase({known.st_dev, known.st_ino});
}

}  // namespace moire::process
