#include "models/algorithms/mscclpp/channel_ends.hpp"

#include <vector>

namespace moire::mscclpp {

ChannelEnds::ChannelEnds(const Plan& plan) : plan_(plan) {
  for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
    for (const ChannelType type : {ChannelType::memory, ChannelType::port}) {
      const std::vector<Channel>& own = plan.gpus[g].of(type);
      for (std::uint32_t c = 0; c < own.size(); ++c) channels_[{g, type, own[c].peer, own[c].ordinal}] = c;
    }
  }
}

std::optional<ChannelEnd> ChannelEnds::far(const ChannelEnd& end) const {
  const Channel& channel = plan_.gpus[end.gpu].of(end.type)[end.channel];
  const auto peer = static_cast<std::size_t>(channel.peer);
  const auto found = channels_.find({peer, end.type, static_cast<std::int32_t>(end.gpu), channel.ordinal});
  if (found == channels_.end()) return std::nullopt;
  return ChannelEnd{peer, end.type, found->second};
}

}  // namespace moire::mscclpp
