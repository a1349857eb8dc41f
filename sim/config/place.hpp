// Where a value was written: the file (or the --set that supplied the value), the line and the column. Lines and
// columns count from 1; columns count bytes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace moire::config {

// A source of values: a file, a text in memory, or one `--set path=value`.
struct Source {
  std::string name;              // its name in messages
  std::filesystem::path folder;  // base of relative paths in it
  bool has_lines = true;         // false for a --set, whose name already contains its whole text
  std::map<std::string, std::string, std::less<>> references;  // the file's `sources:`, from key to full text
};

struct Place {
  std::shared_ptr<const Source> source;
  int line = 0;
  int col = 0;

  std::string str() const;  // "file:line:col", "--set a=1", or "" if the place has no source
};

// Returns the place of the byte with index `at` in a text.
Place place_in(std::shared_ptr<const Source> source, std::string_view text, std::size_t at);

}  // namespace moire::config
