// Loads a YAML file into a tree, follows its includes and applies overrides.
//
// An unquoted value that ends in `.yaml` is an include. It is replaced by the content of the file that it names; the
// path is relative to the file in which it is written. A value in quotes stays text.
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
  bool includes = true;             // false: values that end in .yaml stay text
  std::size_t nodes = 1'000'000;    // limit over all files and aliases
  std::uintmax_t bytes = 64 << 20;  // limit per file
};

// Returns nothing only if no tree can be built (unreadable file, invalid YAML). Other errors (duplicate key, missing
// include, invalid override) are added to `diagnostics` and mark the tree as broken. Parsing a broken tree into a spec
// fails as well, so that a caller who continues reports these errors together with the errors of the spec.
std::optional<Node> load(const std::filesystem::path& file, const std::vector<Override>& overrides,
                         Diagnostics& diagnostics, const LoadOptions& options = {});

// Does the same with a text in memory. Messages show `name` as the file, and relative paths start at the folder of
// `name`.
std::optional<Node> load_text(const std::string& name, const std::string& text, const std::vector<Override>& overrides,
                              Diagnostics& diagnostics, const LoadOptions& options = {});

// Parses the argument of `--set path=value`. The value is YAML, and an include in it is relative to the current
// directory.
std::optional<Override> parse_set(const std::string& path_equals_value, Diagnostics& diagnostics,
                                  const LoadOptions& options = {});
std::vector<Override> parse_sets(const std::vector<std::string>& sets, Diagnostics& diagnostics,
                                 const LoadOptions& options = {});

}  // namespace moire::config
