// An override changes a loaded tree. It comes from `--set path=value` or from an entry of a scenario's variants.
//
// A path is keys and list indices joined by dots: `program.queues.comm.0.all_gather.engine`. A key that contains dots,
// spaces or '=' is quoted: `hosts."node 1.2".nic`. Missing keys are created; the spec that reads the tree rejects
// unknown keys.
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
  std::string text;  // the override as shown in messages and as the source of its values
  Place place;
  Node value;
};

std::optional<std::vector<std::string>> parse_path(std::string_view text, const Place& place, Diagnostics& diagnostics);

// A position at which users may write a list instead of a map that has the list under `key`: `comm: [...]` instead of
// `comm: {operations: [...]}`. Paths work with both forms: an index leads into the list of such a map, and any other
// segment turns the list into a map.
struct ListForm {
  std::vector<std::string> place;  // "*" matches any segment
  std::string key;
};

// Makes an override of one entry of a variant. `path` is the key of the entry, and `value` may be any node. Errors are
// reported at the place of this node.
std::optional<Override> make_override(std::string_view path, const Node& value, Diagnostics& diagnostics);

// Applies an override to the tree `root`. Returns false and reports at the override's place if the path leads through a
// scalar or past the end of a list.
bool apply(const Override& change, Node& root, Diagnostics& diagnostics, const ListForm* form = nullptr);

}  // namespace moire::config
