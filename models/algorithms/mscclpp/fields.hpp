// Typed values of a map of a plan. What is missing or wrong becomes an error, and a value that does no harm is
// returned.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/json_tree.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

class Fields {
 public:
  // `where` names the map: "gpu 0 tb 1 op 3 (put)".
  Fields(const JsonText& text, const JsonValue& map, std::string where, Complaints& complaints)
      : text_(text), map_(map), where_(std::move(where)), complaints_(complaints) {}

  bool has(std::string_view key) const { return map_.find(key) != nullptr; }
  const std::string& where() const { return where_; }
  Fields within(const JsonValue& map, std::string where) const { return {text_, map, std::move(where), complaints_}; }

  // `high` included.
  std::uint64_t number(std::string_view key, std::uint64_t high) const;
  std::uint64_t number(std::string_view key, std::uint64_t high, std::uint64_t absent) const;
  std::uint32_t count(std::string_view key, std::uint32_t high) const;
  std::vector<std::uint32_t> counts(std::string_view key, std::uint32_t high, std::size_t most) const;
  bool flag(std::string_view key, bool absent) const;
  std::string text(std::string_view key) const;
  Buffer buffer(std::string_view key) const;
  ChannelType channel_type(std::string_view key) const;  // in the words of both schemas

  const std::vector<JsonValue>& list(std::string_view key, std::size_t most) const;
  const std::vector<JsonValue>& list_or_none(std::string_view key, std::size_t most) const;
  const JsonValue& map(std::string_view key) const;

  void wrong(std::string_view key, const std::string& what, const std::string& remedy) const;

 private:
  const JsonValue* get(std::string_view key) const;
  std::uint64_t number_of(const JsonValue& value, std::string_view key, std::uint64_t high) const;

  const JsonText& text_;
  const JsonValue& map_;
  std::string where_;
  Complaints& complaints_;
};

}  // namespace moire::mscclpp
