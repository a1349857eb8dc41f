#include "sim/config/override.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/core/log.hpp"

namespace moire::config {

namespace {

constexpr std::size_t max_segments = 100;

// Reads one segment at `text[at]` and advances `at`; returns nothing for an open quote or an empty unquoted segment.
std::optional<std::string> next_segment(std::string_view text, std::size_t& at) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const std::size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string segment(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return segment;
  }
  const std::size_t end = std::min(text.find('.', at), text.size());
  if (end == at) return std::nullopt;
  std::string segment(text.substr(at, end - at));
  at = end;
  return segment;
}

std::string path_text(const std::vector<std::string>& path, std::size_t segments) {
  return fmt::format("{}", fmt::join(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(segments), "."));
}

// Returns the item of a list that segment `depth` of the override's path selects. If there is no such item, reports
// this and returns nullptr.
Node* item_of(Node& list, const Override& change, std::size_t depth, Diagnostics& diagnostics) {
  const std::string& segment = change.path[depth];
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  const bool is_number = error == std::errc() && end == segment.data() + segment.size();
  if (is_number && index < list.items.size()) return &list.items[index];
  const std::string what =
      fmt::format("{} is not an item of the list '{}'", in_quotes(segment), path_text(change.path, depth));
  if (list.items.empty()) {
    diagnostics.error(change.place, what, "the list is empty");
  } else {
    diagnostics.error(change.place, what, fmt::format("choose an item by its number, 0 to {}", list.items.size() - 1));
  }
  return nullptr;
}

bool is_number(const std::string& segment) {
  return !segment.empty() && segment.find_first_not_of("0123456789") == std::string::npos;
}

bool stands_at(const ListForm& form, const Override& change, std::size_t depth) {
  if (form.place.size() != depth) return false;
  for (std::size_t i = 0; i < depth; ++i) {
    if (form.place[i] != "*" && form.place[i] != change.path[i]) return false;
  }
  return true;
}

void make_map(Node& list, const std::string& key) {
  Node map;
  map.kind = Node::Kind::map;
  map.place = list.place;
  const Place place = list.place;
  map.entries.push_back({key, place, std::move(list)});
  list = std::move(map);
}

Node* step(Node& at, const Override& change, std::size_t depth, Diagnostics& diagnostics, const ListForm* form) {
  const std::string& segment = change.path[depth];
  Node* here = &at;
  if (form != nullptr && stands_at(*form, change, depth)) {
    if (at.is_sequence() && !is_number(segment)) make_map(at, form->key);
    Node* list = at.find(form->key);
    if (list != nullptr && list->is_sequence() && is_number(segment)) here = list;
  }
  Node& node = *here;
  if (node.is_sequence()) return item_of(node, change, depth, diagnostics);
  if (node.is_scalar()) {
    diagnostics.error(
        change.place,
        fmt::format("'{}' is {} and has no key {}", path_text(change.path, depth), found(node), in_quotes(segment)),
        fmt::format("set '{}' itself", path_text(change.path, depth)));
    return nullptr;
  }
  if (Node* known = node.find(segment)) return known;
  node.kind = Node::Kind::map;
  Node created;
  created.place = change.place;
  node.entries.push_back({segment, change.place, std::move(created)});
  return &node.entries.back().value;
}

// Stores the text of an override in `node` and in all nodes below it, because a later stage may read any of these nodes
// alone. Files that an override includes are exempt: they must still state the sources of their numbers.
void mark(Node& node, const std::shared_ptr<const std::string>& text) {
  if (node.top) return;
  node.override_text = text;
  for (Node& item : node.items) mark(item, text);
  for (Node::Entry& entry : node.entries) mark(entry.value, text);
}

}  // namespace

std::optional<std::vector<std::string>> parse_path(std::string_view text, const Place& place,
                                                   Diagnostics& diagnostics) {
  std::vector<std::string> path;
  std::size_t at = 0;
  while (true) {
    auto segment = next_segment(text, at);
    const bool ends_well = segment && (at == text.size() || text[at] == '.');
    if (!ends_well || path.size() == max_segments) {
      diagnostics.error(
          place, "bad path " + in_quotes(text),
          "write keys joined by dots, like gpu.hbm.bandwidth, with quotes around a key that contains dots");
      return std::nullopt;
    }
    path.push_back(std::move(*segment));
    if (at == text.size()) return path;
    ++at;  // the dot
  }
}

std::optional<Override> make_override(std::string_view path, const Node& value, Diagnostics& diagnostics) {
  if (value.broken) return std::nullopt;
  auto segments = parse_path(path, value.place, diagnostics);
  if (!segments) return std::nullopt;
  const std::string shown = value.is_scalar() ? value.text : found(value);
  return Override{std::move(*segments), fmt::format("{}: {} ({})", path, shown, value.place.str()), value.place, value};
}

bool apply(const Override& change, Node& root, Diagnostics& diagnostics, const ListForm* form) {
  Node* node = &root;
  for (std::size_t depth = 0; depth < change.path.size(); ++depth) {
    if (node->broken && !node->is_map()) return false;
    node = step(*node, change, depth, diagnostics, form);
    if (!node) return false;
  }
  if (core::logs(core::LogLevel::info)) {
    const std::string before =
        node->is_null() ? "" : fmt::format(" in place of {} ({})", found(*node), node->place.str());
    core::log_info("{}{}", change.text, before);
  }
  std::shared_ptr<const Node> before = node->before;
  if (!before && !node->is_null()) before = std::make_shared<const Node>(std::move(*node));
  *node = change.value;
  if (!node->top) node->before = std::move(before);
  mark(*node, std::make_shared<const std::string>(change.text));
  return true;
}

}  // namespace moire::config
