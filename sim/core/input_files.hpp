// The files that this command has read, so that it does not write over one of them.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <utility>

namespace moire::core {

namespace detail {
inline std::set<std::pair<dev_t, ino_t>> files_read;
}  // namespace detail

inline void note_input(const std::filesystem::path& file) {
  struct stat known {};
  if (stat(file.c_str(), &known) == 0 && S_ISREG(known.st_mode)) detail::files_read.emplace(known.st_dev, known.st_ino);
}

inline bool is_input(const struct stat& file) { return detail::files_read.contains({file.st_dev, file.st_ino}); }

// What the command makes anew: it may take the place of what was read.
inline void may_be_replaced(const std::filesystem::path& file) {
  struct stat known {};
  if (stat(file.c_str(), &known) == 0) detail::files_read.erase({known.st_dev, known.st_ino});
}

}  // namespace moire::core
