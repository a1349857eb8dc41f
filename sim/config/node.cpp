#include "sim/config/node.hpp"

#include <algorithm>
#include <utility>

#include "sim/config/diagnostics.hpp"

namespace moire::config {

const Node* Node::find(std::string_view key) const {
  const auto it = std::find_if(entries.begin(), entries.end(), [key](const Entry& e) { return e.key == key; });
  return it == entries.end() ? nullptr : &it->value;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

std::vector<std::string> Node::keys() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries) out.push_back(entry.key);
  return out;
}

std::size_t Node::count() const {
  std::size_t total = 1;
  for (const Node& item : items) total += item.count();
  for (const Entry& entry : entries) total += entry.value.count();
  return total;
}

Node Node::as_written() const {
  if (before) return before->as_written();
  Node out = *this;
  for (Node& item : out.items) item = item.as_written();
  out.entries.clear();
  for (const Entry& entry : entries) {
    const bool added = entry.value.override_text && !entry.value.before;
    if (!added) out.entries.push_back({entry.key, entry.key_place, entry.value.as_written()});
  }
  return out;
}

std::string found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return in_quotes(node.text);
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return {};
}

}  // namespace moire::config
