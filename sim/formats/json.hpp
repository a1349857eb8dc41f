// Reads JSON into a tree in which every value has its position.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::formats {

struct JsonValue {
  enum class Kind { null, boolean, integer, real, text, list, map };
  struct Entry;

  Kind kind = Kind::null;
  bool flag = false;
  bool negative = false;     // integers only; `number` is the magnitude
  std::uint64_t number = 0;  // integers only
  std::string text;
  std::vector<JsonValue> items;
  std::vector<Entry> entries;
  int line = 0;
  int col = 0;

  const JsonValue* find(std::string_view key) const;  // nullptr if this is not a map or has no such key
};

struct JsonValue::Entry {
  std::string key;
  JsonValue value;
};

// Describes a value in messages: "a list", "'i'", "12".
std::string found(const JsonValue& value);

struct JsonText {
  std::shared_ptr<const config::Source> source;
  JsonValue root;

  config::Place place(const JsonValue& value) const { return {source, value.line, value.col}; }
};

// Limits far above what Moire's input files need, so that malformed files do not exhaust memory.
inline constexpr std::size_t most_json_values = 4'000'000;
inline constexpr std::size_t most_json_levels = 64;
inline constexpr std::size_t most_json_keys = 256;  // per map, because find() searches them linearly

// Returns nothing and reports why if the text is not JSON, is nested too deep or has too many values, or if a map has a
// key twice or more than `most_keys` keys.
std::optional<JsonText> read_json(const std::string& name, const std::string& text, config::Diagnostics& diagnostics,
                                  std::size_t most_keys = most_json_keys);

}  // namespace moire::formats
