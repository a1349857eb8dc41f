#include "app/evidence/validate/shared.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

using config::in_quotes;
using config::Node;

struct Part {
  Node::Entry entry;
  bool used = false;
};

bool is_written_map(const Node& node) { return node.is_map() && !node.top; }  // false for an included file's content

// Joins the entries of both maps in `own`. The entries of `part` come before those that only `own` has. If both have an
// entry, the value in `own` replaces the value in `part`. If `also_maps` is true and both values are maps, these are
// joined in the same way.
void join(const Node& part, Node& own, bool also_maps) {
  std::vector<Node::Entry> joined = part.entries;
  for (Node::Entry& entry : own.entries) {
    const auto same =
        std::find_if(joined.begin(), joined.end(), [&entry](const auto& one) { return one.key == entry.key; });
    if (same == joined.end()) {
      joined.push_back(std::move(entry));
      continue;
    }
    if (also_maps && is_written_map(same->value) && is_written_map(entry.value)) join(same->value, entry.value, false);
    *same = std::move(entry);
  }
  own.entries = std::move(joined);
  own.broken = own.broken || part.broken;
}

// Entries of `set` apply in order, and a change of 'system' undoes earlier changes of 'system.nodes'. The first
// `of_part` entries are from the shared part, the others are the group's own. If an own entry has a path such as
// 'system', it is moved before the first entry of the shared part with a path inside, such as 'system.nodes'.
void put_wholes_first(Node& set, std::size_t of_part) {
  for (std::size_t own = of_part; own < set.entries.size(); ++own) {
    const std::string within = set.entries[own].key + ".";
    const auto first = set.entries.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(of_part);
    const auto at = std::find_if(first, last, [&](const Node::Entry& one) { return one.key.starts_with(within); });
    if (at == last) continue;
    std::rotate(at, first + static_cast<std::ptrdiff_t>(own), first + static_cast<std::ptrdiff_t>(own) + 1);
    ++of_part;
  }
}

void complete(Node& group, std::vector<Part>& parts, config::Diagnostics& diagnostics) {
  const Node* like = group.find("like");
  if (!like || !like->is_scalar()) return;  // parsing the group's spec reports this error
  std::vector<std::string> names;
  for (Part& part : parts) {
    names.push_back(part.entry.key);
    if (part.entry.key != like->text) continue;
    part.used = true;
    if (!part.entry.value.is_map()) return;
    join(part.entry.value, group, true);
    const Node* set_of_part = part.entry.value.find("set");
    Node* set = group.find("set");
    if (set != nullptr && set->is_map() && set_of_part != nullptr) put_wholes_first(*set, set_of_part->entries.size());
    return;
  }
  diagnostics.error(like->place, fmt::format("'like' does not name a part of 'shared': {}", in_quotes(like->text)),
                    names.empty() ? "write its keys below 'shared' at the top of the file"
                                  : config::suggestion(like->text, names, "parts"));
}

}  // namespace

void complete_groups(Node& file, config::Diagnostics& diagnostics) {
  std::vector<Part> parts;
  if (const Node* shared = file.find("shared"))
    for (const Node::Entry& entry : shared->entries) parts.push_back({entry, false});
  if (Node* groups = file.find("groups"))
    for (Node& group : groups->items) complete(group, parts, diagnostics);
  for (const Part& part : parts) {
    const auto& [name, place, value] = part.entry;
    if (!value.is_map())
      diagnostics.error(value.place, fmt::format("'shared.{}' is {}, not a map", name, found(value)),
                        "write the keys of a group there, {scenario: ..., set: {...}}");
    if (!part.used)
      diagnostics.error(place, fmt::format("no group uses {}", in_quotes(name)),
                        fmt::format("write 'like: {}' in the groups that use it, or remove the part", name));
  }
}

}  // namespace moire::validate
