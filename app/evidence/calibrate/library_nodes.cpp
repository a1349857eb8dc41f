#include "app/evidence/calibrate/library_nodes.hpp"

#include <algorithm>

#include "app/evidence/calibrate/file_nodes.hpp"
#include "sim/config/description.hpp"

namespace moire::calibrate {

using config::Node;
using libraries::Path;

Node* library_section(Node& root, const std::string& section) {
  Node* map = &root;
  for (std::size_t begin = 0; map != nullptr && begin < section.size();) {
    const std::size_t dot = std::min(section.find('.', begin), section.size());
    map = map->find(section.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return map != nullptr && map->is_map() ? map : nullptr;
}

std::string library_text(Node& root, const Path& path) {
  const Node* map = library_section(root, path.section);
  const Node* node = map ? map->find(path.key) : nullptr;
  if (node && node->is_map()) node = node->find("value");
  return node && node->is_scalar() ? node->text : "";
}

Node& library_entry(Node& root, const Path& path) {
  Node& map = *library_section(root, path.section);
  if (Node* there = map.find(path.key)) return *there;
  const std::vector<std::string> order = libraries::section_spec(path.section)->keys();
  const auto rank = [&order](const std::string& key) { return std::find(order.begin(), order.end(), key); };
  const auto behind = std::find_if(map.entries.begin(), map.entries.end(), [&](const Node::Entry& entry) {
    return entry.key != "sources" && rank(entry.key) > rank(path.key);
  });
  return map.entries.insert(behind, {path.key, {}, Node{}})->value;
}

void add_source(Node& root, const std::string& key, const std::string& text) {
  Node* sources = root.find("sources");
  if (!sources) {
    Node map;
    map.kind = Node::Kind::map;
    sources = &root.entries.insert(root.entries.begin(), {"sources", {}, map})->value;
  }
  Node node = scalar(text);
  node.quoted = true;
  if (Node* there = sources->find(key)) {
    *there = node;
  } else {
    sources->entries.push_back({key, {}, node});
  }
}

}  // namespace moire::calibrate
