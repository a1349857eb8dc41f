#include "app/evidence/calibrate/yaml_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/reading.hpp"

namespace moire::calibrate {

namespace {

using config::Node;

constexpr std::size_t widest = 120;

enum class Context { block, flow };

bool is_plain(const std::string& text, Context context) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (std::string("-?:,[]{}#&*!|>'\"%@`~").find(text.front()) != std::string::npos) return false;
  if (text.find_first_of(context == Context::flow ? "\n\t,[]{}" : "\n\t") != std::string::npos) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return text.find(": ") == std::string::npos && text.find(" #") == std::string::npos && text.back() != ':';
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// True if a text must be written in quotes: it is no plain scalar of YAML, or it was in quotes and would have another
// meaning without them.
bool needs_quotes(const Node& node, Context context) {
  if (!is_plain(node.text, context)) return true;
  const bool word = node.text == "null" || node.text == "true" || node.text == "false" || node.text == "Null" ||
                    node.text == "NULL" || node.text.ends_with(".yaml");
  return node.quoted && word;
}

std::string scalar(const Node& node, Context context) {
  return needs_quotes(node, context) ? quoted(node.text) : node.text;
}

std::string key_text(const std::string& key) { return is_plain(key, Context::flow) ? key : quoted(key); }

std::string flow(const Node& node) {
  std::string out;
  switch (node.kind) {
    case Node::Kind::null:
      return "null";
    case Node::Kind::scalar:
      return scalar(node, Context::flow);
    case Node::Kind::sequence:
      for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + flow(item);
      return "[" + out + "]";
    case Node::Kind::map:
      for (const auto& entry : node.entries) {
        out += (out.empty() ? "" : ", ") + key_text(entry.key) + ": " + flow(entry.value);
      }
      return "{" + out + "}";
  }
  return out;
}

// True if words are separated by single spaces, so that a folded block gives the same text.
bool can_fold(const std::string& text) {
  return !text.empty() && text.find('\n') == std::string::npos && text.find("  ") == std::string::npos &&
         text.front() != ' ' && text.back() != ' ' && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

std::string folded(const std::string& text, std::size_t indent) {
  std::string out = ">-";
  std::string line;
  const auto end_line = [&] {
    out += "\n" + std::string(indent, ' ') + line;
    line.clear();
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > widest - 2) end_line();
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  end_line();
  return out;
}

class Writer {
 public:
  explicit Writer(const CommentsOf& comments) : comments_(comments) {}

  void root(const Node& node) {
    bool first = true;
    bool after_block = false;
    for (const auto& entry : node.entries) {
      const bool block = (entry.value.is_map() && !config::is_sourced_form(entry.value)) || entry.value.is_sequence();
      if (!first && (block || after_block)) out_ += "\n";
      this->entry(entry, "", 0);
      first = false;
      after_block = block;
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void line(std::size_t indent, const std::string& text) { out_ += std::string(indent, ' ') + text + "\n"; }

  void entry(const Node::Entry& entry, const std::string& above, std::size_t indent) {
    const std::string path = above.empty() ? entry.key : above + "." + entry.key;
    for (const std::string& comment : comments_(path)) line(indent, comment);
    value(key_text(entry.key) + ":", entry.value, path, indent);
  }

  // `head` precedes the value on its line: "key:" or "-".
  void value(const std::string& head, const Node& node, const std::string& path, std::size_t indent) {
    if (node.is_sequence() && !node.items.empty() &&
        std::any_of(node.items.begin(), node.items.end(), [](const Node& item) { return item.is_map(); })) {
      line(indent, head);
      for (std::size_t i = 0; i < node.items.size(); ++i)
        item(node.items[i], fmt::format("{}.{}", path, i), indent + 2);
      return;
    }
    if (node.is_map() && !config::is_sourced_form(node) && !node.entries.empty()) {
      line(indent, head);
      for (const auto& inner : node.entries) entry(inner, path, indent + 2);
      return;
    }
    const std::string one_line = node.is_scalar() ? scalar(node, Context::block) : flow(node);
    if (node.is_scalar() && indent + head.size() + 1 + one_line.size() > widest && can_fold(node.text)) {
      line(indent, head + " " + folded(node.text, indent + 2));
    } else {
      line(indent, head + " " + one_line);
    }
  }

  void item(const Node& node, const std::string& path, std::size_t indent) {
    const std::string one_line = flow(node);
    if (!node.is_map() || indent + 2 + one_line.size() <= widest - 20) {
      line(indent, "- " + one_line);
      return;
    }
    const std::size_t begin = out_.size();
    for (const auto& inner : node.entries) entry(inner, path, indent + 2);
    out_[begin + indent] = '-';
  }

  const CommentsOf& comments_;
  std::string out_;
};

}  // namespace

std::string in_layout(const config::Node& root, const CommentsOf& comments) {
  Writer writer(comments);
  writer.root(root);
  return writer.take();
}

}  // namespace moire::calibrate
