// Where a value was written: the file (or the --set that stands for one), line and column, both from 1;
// columns count bytes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace moire::config {

// One text that values come from: a file, a text in memory or one `--set path=value`.
struct Source {
  std::string name;                                            // as errors show it
  std::filesystem::path folder;                                // what relative paths written in it start from
  bool has_lines = true;                                       // a --set has none: its name says it all
  std::map<std::string, std::string, std::less<>> references;  // its top-level `sources:`, key to full text
};

struct Place {
  std::shared_ptr<const Source> source;
  int line = 0;
  int col = 0;

  std::string str() const;  // "file:line:col", "--set a=1", or "" for nowhere
};

// Of one byte of a text.
Place place_in(std::shared_ptr<const Source> source, std::string_view text, std::size_t at);

}  // namespace moire::config
