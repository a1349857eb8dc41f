// The tree of a configuration file. Unlike YAML::Node it keeps key positions, order and every key, so that a later
// stage can name the exact place of what it rejects.
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
  bool quoted = false;  // scalar written in quotes or as a block: always text, never an include
  bool top = false;     // root of a file, so `sources:` may stand here
  bool broken = false;  // an error in it was already reported; parsing fails without saying so twice
  Place place;
  std::string text;                                  // scalar
  std::vector<Node> items;                           // sequence
  std::vector<Entry> entries;                        // map, in the order written
  std::shared_ptr<const std::string> override_text;  // set where an override put this value, e.g. "--set a.b=4"
  std::shared_ptr<const Node> before;                // what the first override of this value replaced

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  const Node* find(std::string_view key) const;  // nullptr where this is no map or has no such key
  Node* find(std::string_view key);
  std::vector<std::string> keys() const;
  std::size_t count() const;  // nodes in this tree, itself included
  Node as_written() const;    // without the overrides; a file that one named counts as written
};

struct Node::Entry {
  std::string key;
  Place key_place;
  Node value;
};

// "'8 GB'", "a list", "a map", "nothing": what a reader found, for errors.
std::string found(const Node& node);

}  // namespace moire::config
