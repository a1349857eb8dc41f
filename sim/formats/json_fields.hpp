// Typed access to the values of a JSON map. A missing or invalid value is reported and replaced by a harmless value,
// such as 0 or an empty text, so that a reader continues and one pass finds all errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/formats/complaints.hpp"
#include "sim/formats/json.hpp"

namespace moire::formats {

class JsonFields {
 public:
  // `where` names the map in messages: "gpu 0 tb 1 op 3 (put)".
  JsonFields(const JsonText& text, const JsonValue& map, std::string where, Complaints& complaints)
      : text_(text), map_(map), where_(std::move(where)), complaints_(complaints) {}

  bool has(std::string_view key) const { return map_.find(key) != nullptr; }
  const std::string& where() const { return where_; }

  // These functions return the value of a key. A number may be at most `high`, and a list may have at most `most`
  // items. If the map has no such key, the functions with an argument `absent` return this argument, list_or_none()
  // returns an empty list, and the other functions report an error.
  std::uint64_t number(std::string_view key, std::uint64_t high) const;
  std::uint64_t number(std::string_view key, std::uint64_t high, std::uint64_t absent) const;
  std::uint32_t count(std::string_view key, std::uint32_t high) const;
  std::vector<std::uint32_t> counts(std::string_view key, std::uint32_t high, std::size_t most) const;
  bool flag(std::string_view key, bool absent) const;
  std::string text(std::string_view key) const;

  const std::vector<JsonValue>& list(std::string_view key, std::size_t most) const;
  const std::vector<JsonValue>& list_or_none(std::string_view key, std::size_t most) const;
  const JsonValue& map(std::string_view key) const;

  // Reports `what` at the value of a key, or at the map if the map has no such key.
  void wrong(std::string_view key, const std::string& what, const std::string& remedy) const;
  // Reports "<key> is <value>" and the remedy.
  void unfit(std::string_view key, const JsonValue& value, const std::string& remedy) const;

 protected:
  const JsonValue* get(std::string_view key) const;  // reports an error if there is no such key

  const JsonText& text_;
  const JsonValue& map_;
  std::string where_;
  Complaints& complaints_;

 private:
  std::uint64_t number_of(const JsonValue& value, std::string_view key, std::uint64_t high) const;
};

}  // namespace moire::formats
