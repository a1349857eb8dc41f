#include "models/algorithms/mscclpp/fields.hpp"

namespace moire::mscclpp {

Buffer Fields::buffer(std::string_view key) const {
  const JsonValue* value = get(key);
  if (!value) return Buffer::input;
  if (value->kind == JsonValue::Kind::text) {
    if (const auto buffer = msccl::buffer_of(value->text)) return *buffer;
  }
  unfit(key, *value, "write \"i\", \"o\" or \"s\"");
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
  unfit(key, *value, "write \"memory\", \"port\", \"switch\" or \"none\"");
  return ChannelType::none;
}

}  // namespace moire::mscclpp
