#include "app/evidence/calibrate/file_nodes.hpp"

#include <fstream>
#include <sstream>

#include "app/evidence/calibrate/yaml_layout.hpp"

namespace moire::calibrate {

using config::Node;

namespace {

void collect_sources(const Node& node, std::set<std::string>& named) {
  for (const auto& entry : node.entries) {
    if (entry.key == "source" && entry.value.is_scalar()) named.insert(entry.value.text);
    if (!(node.top && entry.key == "sources")) collect_sources(entry.value, named);
  }
  for (const Node& item : node.items) collect_sources(item, named);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void collect_comments(const Node& node, const std::string& path, const std::vector<std::string>& lines,
                      Comments& comments) {
  for (const auto& entry : node.entries) {
    const std::string own = path.empty() ? entry.key : path + "." + entry.key;
    std::vector<std::string> above;
    for (int line = entry.key_place.line - 1; line >= 1 && static_cast<std::size_t>(line) <= lines.size(); --line) {
      const std::string& text = lines[static_cast<std::size_t>(line) - 1];
      const std::size_t begin = text.find_first_not_of(' ');
      if (begin == std::string::npos || text[begin] != '#') break;
      above.insert(above.begin(), text.substr(begin));
    }
    if (!above.empty()) comments[own] = above;
    collect_comments(entry.value, own, lines, comments);
  }
}

}  // namespace

Node scalar(std::string text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.text = std::move(text);
  return node;
}

Node sourced(std::string value, const std::string& source) {
  Node node;
  node.kind = Node::Kind::map;
  node.entries.push_back({"value", {}, scalar(std::move(value))});
  node.entries.push_back({"source", {}, scalar(source)});
  return node;
}

std::set<std::string> sources_of(const Node& root) {
  std::set<std::string> named;
  collect_sources(root, named);
  return named;
}

Comments comments_of(const Node& root, const std::string& text) {
  Comments comments;
  collect_comments(root, "", lines_of(text), comments);
  return comments;
}

Comments comments_in(const std::filesystem::path& file, const Node& root) {
  std::ifstream in(file, std::ios::binary);
  return comments_of(root, std::string(std::istreambuf_iterator<char>(in), {}));
}

std::string in_layout(const Node& root, const Comments& comments) {
  const std::set<std::string> named = sources_of(root);
  Node kept = root;
  if (Node* sources = kept.find("sources")) {
    std::erase_if(sources->entries, [&named](const Node::Entry& entry) { return !named.contains(entry.key); });
  }
  return in_layout(kept, [&comments](const std::string& path) {
    const auto it = comments.find(path);
    return it == comments.end() ? std::vector<std::string>() : it->second;
  });
}

}  // namespace moire::calibrate
