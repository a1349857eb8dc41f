#include "sim/formats/json_fields.hpp"

#include <fmt/format.h>

namespace moire::formats {

namespace {

const JsonValue empty_map = [] {
  JsonValue value;
  value.kind = JsonValue::Kind::map;
  return value;
}();

}  // namespace

const JsonValue* JsonFields::get(std::string_view key) const {
  const JsonValue* value = map_.find(key);
  if (!value) {
    complaints_.error(text_.place(map_), fmt::format("{} has no {}", where_, config::in_quotes(key)),
                      fmt::format("add \"{}\"", key));
  }
  return value;
}

void JsonFields::wrong(std::string_view key, const std::string& what, const std::string& remedy) const {
  const JsonValue* value = map_.find(key);
  complaints_.error(text_.place(value ? *value : map_), fmt::format("{}: {}", where_, what), remedy);
}

void JsonFields::unfit(std::string_view key, const JsonValue& value, const std::string& remedy) const {
  wrong(key, fmt::format("{} is {}", key, found(value)), remedy);
}

std::uint64_t JsonFields::number_of(const JsonValue& value, std::string_view key, std::uint64_t high) const {
  if (value.kind == JsonValue::Kind::integer && (!value.negative || value.number == 0) && value.number <= high) {
    return value.number;
  }
  complaints_.error(text_.place(value), fmt::format("{}: {} is {}", where_, key, found(value)),
                    fmt::format("write an integer from 0 to {}", high));
  return 0;
}

std::uint64_t JsonFields::number(std::string_view key, std::uint64_t high) const {
  const JsonValue* value = get(key);
  return value ? number_of(*value, key, high) : 0;
}

std::uint64_t JsonFields::number(std::string_view key, std::uint64_t high, std::uint64_t absent) const {
  const JsonValue* value = map_.find(key);
  return value ? number_of(*value, key, high) : absent;
}

std::uint32_t JsonFields::count(std::string_view key, std::uint32_t high) const {
  return static_cast<std::uint32_t>(number(key, high));
}

std::vector<std::uint32_t> JsonFields::counts(std::string_view key, std::uint32_t high, std::size_t most) const {
  std::vector<std::uint32_t> all;
  for (const JsonValue& value : list(key, most)) all.push_back(static_cast<std::uint32_t>(number_of(value, key, high)));
  return all;
}

bool JsonFields::flag(std::string_view key, bool absent) const {
  const JsonValue* value = map_.find(key);
  if (!value) return absent;
  if (value->kind == JsonValue::Kind::boolean) return value->flag;
  unfit(key, *value, "true or false");
  return absent;
}

std::string JsonFields::text(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return {};
  if (value->kind == JsonValue::Kind::text) return value->text;
  unfit(key, *value, "a text");
  return {};
}

const std::vector<JsonValue>& JsonFields::list_or_none(std::string_view key, std::size_t most) const {
  const JsonValue* value = map_.find(key);
  if (!value) return empty_map.items;
  if (value->kind != JsonValue::Kind::list) {
    unfit(key, *value, "a list");
    return empty_map.items;
  }
  if (value->items.size() > most) {
    wrong(key, fmt::format("{} has {} entries", key, value->items.size()), fmt::format("at most {}", most));
    return empty_map.items;
  }
  return value->items;
}

const std::vector<JsonValue>& JsonFields::list(std::string_view key, std::size_t most) const {
  return get(key) ? list_or_none(key, most) : empty_map.items;
}

const JsonValue& JsonFields::map(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return empty_map;
  if (value->kind == JsonValue::Kind::map) return *value;
  unfit(key, *value, "a map");
  return empty_map;
}

}  // namespace moire::formats
