// Reads values of a plan's maps, including the names of buffers and channel types, which only plans have.
#pragma once

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/formats/json_fields.hpp"

namespace moire::mscclpp {

using formats::Complaints;
using formats::JsonText;
using formats::JsonValue;

class Fields : public formats::JsonFields {
 public:
  using JsonFields::JsonFields;

  Fields within(const JsonValue& map, std::string where) const { return {text_, map, std::move(where), complaints_}; }
  Buffer buffer(std::string_view key) const;
  ChannelType channel_type(std::string_view key) const;  // accepts the spelling of both schemas
};

}  // namespace moire::mscclpp
