#include "models/algorithms/mscclpp/fields.hpp"

#include <fmt/format.h>

namespace moire::mscclpp {

namespace {

const JsonValue empty_map = [] {
  JsonValue value;
  value.kind = JsonValue::Kind::map;
  return value;
}();

}  // namespace

const JsonValue* Fields::get(std::string_view key) const {
  const JsonValue* value = map_.find(key);
  if (!value) {
    complaints_.error(text_.place(map_), fmt::format("{} has no {}", where_, config::in_quotes(key)),
                      fmt::format("add \"{}\"", key));
  }
  return value;
}

void Fields::wrong(std::string_view key, const std::string& what, const std::string& remedy) const {
  const JsonValue* value = map_.find(key);
  complaints_.error(text_.place(value ? *value : map_), fmt::format("{}: {}", where_, what), remedy);
}

std::uint64_t Fields::number_of(const JsonValue& value, std::string_view key, std::uint64_t high) const {
  if (value.kind == JsonValue::Kind::integer && (!value.negative || value.number == 0) && value.number <= high) {
    return value.number;
  }
  complaints_.error(text_.place(value), fmt::format("{}: {} is {}", where_, key, found(value)),
                    fmt::format("a whole number from 0 to {}", high));
  return 0;
}

std::uint64_t Fields::number(std::string_view key, std::uint64_t high) const {
  const JsonValue* value = get(key);
  return value ? number_of(*value, key, high) : 0;
}

std::uint64_t Fields::number(std::string_view key, std::uint64_t high, std::uint64_t absent) const {
  const JsonValue* value = map_.find(key);
  return value ? number_of(*value, key, high) : absent;
}

std::uint32_t Fields::count(std::string_view key, std::uint32_t high) const {
  return static_cast<std::uint32_t>(number(key, high));
}

std::vector<std::uint32_t> Fields::counts(std::string_view key, std::uint32_t high, std::size_t most) const {
  std::vector<std::uint32_t> all;
  for (const JsonValue& value : list(key, most)) all.push_back(static_cast<std::uint32_t>(number_of(value, key, high)));
  return all;
}

bool Fields::flag(std::string_view key, bool absent) const {
  const JsonValue* value = map_.find(key);
  if (!value) return absent;
  if (value->kind == JsonValue::Kind::boolean) return value->flag;
  wrong(key, fmt::format("{} is {}", key, found(*value)), "true or false");
  return absent;
}

std::string Fields::text(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return {};
  if (value->kind == JsonValue::Kind::text) return value->text;
  wrong(key, fmt::format("{} is {}", key, found(*value)), "a text");
  return {};
}

Buffer Fields::buffer(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return Buffer::input;
  if (value->kind == JsonValue::Kind::text) {
    if (const auto buffer = msccl::buffer_of(value->text)) return *buffer;
  }
  wrong(key, fmt::format("{} is {}", key, found(*value)), "\"i\", \"o\" or \"s\"");
  return Buffer::input;
}

ChannelType Fields::channel_type(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return ChannelType::none;
  if (value->kind == JsonValue::Kind::text) {
    if (value->text == "memory" || value->text == "sm") return ChannelType::memory;
    if (value->text == "port" || value->text == "proxy") return ChannelType::port;
    if (value->text == "switch" || value->text == "nvls") return ChannelType::multicast;
    if (value->text == "none") return ChannelType::none;
  }
  wrong(key, fmt::format("{} is {}", key, found(*value)), "\"memory\", \"port\", \"switch\" or \"none\"");
  return ChannelType::none;
}

const std::vector<JsonValue>& Fields::list_or_none(std::string_view key, std::size_t most) const {
  const JsonValue* value = map_.find(key);
  if (!value) return empty_map.items;
  if (value->kind != JsonValue::Kind::list) {
    wrong(key, fmt::format("{} is {}", key, found(*value)), "a list");
    return empty_map.items;
  }
  if (value->items.size() > most) {
    wrong(key, fmt::format("{} has {} entries", key, value->items.size()), fmt::format("at most {}", most));
    return empty_map.items;
  }
  return value->items;
}

const std::vector<JsonValue>& Fields::list(std::string_view key, std::size_t most) const {
  return get(key) ? list_or_none(key, most) : empty_map.items;
}

const JsonValue& Fields::map(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return empty_map;
  if (value->kind == JsonValue::Kind::map) return *value;
  wrong(key, fmt::format("{} is {}", key, found(*value)), "a map");
  return empty_map;
}

}  // namespace moire::mscclpp
