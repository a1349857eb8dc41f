// The tree of a configuration file. Unlike YAML::Node it keeps the order and position of every key, so that later
// stages can report exact places.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/place.hpp"

namespace moire::config {

struct Node {
  enum class Kind { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  bool quoted = false;  // scalar in quotes or in block style: always text, never an include
  bool top = false;     // root of a file, where `sources:` is allowed
  bool broken = false;  // an error in this node was already reported, so parsing fails without a second message
  Place place;
  std::string text;                                  // for scalars
  std::vector<Node> items;                           // for sequences
  std::vector<Entry> entries;                        // for maps, in file order
  std::shared_ptr<const std::string> override_text;  // set if an override supplied this value, such as "--set a.b=4"
  std::shared_ptr<const Node> before;                // the value that the first override replaced

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  const Node* find(std::string_view key) const;  // nullptr if this is not a map or has no such key
  Node* find(std::string_view key);
  std::vector<std::string> keys() const;
  std::size_t count() const;  // number of nodes in this tree, including this one
  // Returns this tree without overrides: with the values that overrides replaced, and without the keys that overrides
  // added. An added key whose value is an included file is kept.
  Node as_written() const;
};

struct Node::Entry {
  std::string key;
  Place key_place;
  Node value;
};

// Describes a node in messages: "'8 GB'", "a list", "a map", "nothing".
std::string found(const Node& node);

}  // namespace moire::config
