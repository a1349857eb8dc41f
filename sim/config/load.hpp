// From a file to a tree: YAML, includes, overrides.
//
// A plain (unquoted) value that ends in `.yaml` stands for the content of that file, whose path is relative to the
// file it is written in. Quote such a value to keep it as text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"
#include "sim/config/override.hpp"

namespace moire::config {

struct LoadOptions {
  bool includes = true;             // false: a value that ends in .yaml stays text
  std::size_t nodes = 1'000'000;    // over all files and aliases
  std::uintmax_t bytes = 64 << 20;  // of one file
};

// Nothing is returned only where no tree can be made (unreadable file, bad YAML). Other errors (duplicate key, missing
// include, bad override) are in `diagnostics`, mark the tree as broken and make its parse fail, so that a caller who
// goes on to parse shows them together with the schema errors.
std::optional<Node> load(const std::filesystem::path& file, const std::vector<Override>& overrides,
                         Diagnostics& diagnostics, const LoadOptions& options = {});

// The same from memory; `name` is shown as the file, relative paths start from its folder.
std::optional<Node> load_text(const std::string& name, const std::string& text, const std::vector<Override>& overrides,
                              Diagnostics& diagnostics, const LoadOptions& options = {});

// `--set path=value`: the value is YAML, an include in it is relative to the current directory.
std::optional<Override> parse_set(const std::string& path_equals_value, Diagnostics& diagnostics,
                                  const LoadOptions& options = {});
std::vector<Override> parse_sets(const std::vector<std::string>& sets, Diagnostics& diagnostics,
                                 const LoadOptions& options = {});

}  // namespace moire::config
