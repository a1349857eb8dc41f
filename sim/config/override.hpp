// Changes to a loaded tree: `--set path=value`, and the entries of a scenario's variants.
//
// A path is keys and list indices joined by dots: `program.queues.comm.0.all_gather.engine`. A key that contains dots,
// spaces or '=' is quoted: `hosts."node 1.2".nic`. Missing keys are created; the spec that reads the tree rejects
// unknown ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.hpp"
#include "sim/config/node.hpp"

namespace moire::config {

struct Override {
  std::vector<std::string> path;
  std::string text;  // its text in messages and provenance
  Place place;
  Node value;
};

std::optional<std::vector<std::string>> parse_path(std::string_view text, const Place& place, Diagnostics& diagnostics);

// A position where a list is short for a map with that list under `key`: `comm: [...]` for `comm: {operations: [...]}`.
// Paths work with both forms: an index leads into the list of such a map, and any other segment turns the list into a
// map.
struct ListForm {
  std::vector<std::string> place;  // "*" matches any segment
  std::string key;
};

// One entry of a variant: `path` is its key, `value` may be any node; errors are reported at the node's place.
std::optional<Override> make_override(std::string_view path, const Node& value, Diagnostics& diagnostics);

// Returns false and reports at the override's place if the path leads through a scalar or past the end of a list.
bool apply(const Override& change, Node& root, Diagnostics& diagnostics, const ListForm* form = nullptr);

}  // namespace moire::config
