// JSON in which every value knows where it stands.
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
  bool negative = false;     // of an integer: its magnitude is `number`
  std::uint64_t number = 0;  // of an integer
  std::string text;
  std::vector<JsonValue> items;
  std::vector<Entry> entries;
  int line = 0;
  int col = 0;

  const JsonValue* find(std::string_view key) const;  // nullptr where this is no map or has no such key
};

struct JsonValue::Entry {
  std::string key;
  JsonValue value;
};

// "a list", "'i'", "12": what stands there, for errors.
std::string found(const JsonValue& value);

struct JsonText {
  std::shared_ptr<const config::Source> source;
  JsonValue root;

  config::Place place(const JsonValue& value) const { return {source, value.line, value.col}; }
};

// What no file of ours comes near: a wrong one must not ask for all memory.
inline constexpr std::size_t most_json_values = 4'000'000;
inline constexpr std::size_t most_json_levels = 64;
inline constexpr std::size_t most_json_keys = 256;  // of a map, since they are searched one by one

// Nothing, and the reason, where it is no JSON, too deep or too large, or a key stands twice in a map.
std::optional<JsonText> read_json(const std::string& name, const std::string& text, config::Diagnostics& diagnostics);

}  // namespace moire::formats
