// The two ends of a plan's channels.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// A GPU's end of a channel.
struct ChannelEnd {
  std::size_t gpu = 0;
  ChannelType type = ChannelType::memory;
  std::uint32_t channel = 0;  // index among the GPU's channels of this type

  auto operator<=>(const ChannelEnd&) const = default;
};

class ChannelEnds {
 public:
  explicit ChannelEnds(const Plan& plan);

  // Returns the peer's end of a channel; nothing if the peer has no such channel.
  std::optional<ChannelEnd> far(const ChannelEnd& end) const;

 private:
  const Plan& plan_;
  // By GPU, type, peer and ordinal of a channel: its index among the GPU's channels of this type.
  std::map<std::tuple<std::size_t, ChannelType, std::int32_t, std::uint32_t>, std::uint32_t> channels_;
};

}  // namespace moire::mscclpp
