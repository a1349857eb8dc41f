// Changes to a loaded tree: `--set path=value` and the entries of a scenario's variants.
//
// A path is keys and list indices joined by dots, `program.queues.comm.0.all_gather.engine`; a key that itself holds
// dots, spaces or '=' stands in quotes, `hosts."node 1.2".nic`. Missing keys are created: the spec that reads the tree
// rejects the ones it does not know.
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
  std::string text;  // how messages and provenance name it
  Place place;
  Node value;
};

std::optional<std::vector<std::string>> parse_path(std::string_view text, const Place& place, Diagnostics& diagnostics);

// A place where a list may stand for a map that holds it under `key`: `comm: [...]` for `comm: {operations: [...]}`.
// Paths then lead through both forms: a number leads into the list of such a map, any other segment makes the list one.
struct ListForm {
  std::vector<std::string> place;  // "*" is any segment
  std::string key;
};

// One entry of a variant: the key is the dotted path, the value any node; errors show the node's place.
std::optional<Override> make_override(std::string_view path, const Node& value, Diagnostics& diagnostics);

// False, with a diagnostic at the override's place, where the path leads through a scalar or past a list's end.
bool apply(const Override& change, Node& root, Diagnostics& diagnostics, const ListForm* form = nullptr);

}  // namespace moire::config
