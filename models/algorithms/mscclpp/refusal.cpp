#include "models/algorithms/mscclpp/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace moire::mscclpp {

namespace {

template <class Property>
bool any_operand(const Operation& op, Property property) {
  return std::any_of(op.sources.begin(), op.sources.end(), property) ||
         std::any_of(op.destinations.begin(), op.destinations.end(), property);
}

}  // namespace

std::optional<Refusal> refusal(const Plan& plan, std::size_t gpu, const Operation& op, bool in_pipeline,
                               std::int32_t node) {
  if (in_pipeline && any_operand(op, [](const Operand& operand) { return operand.packets; })) {
    return Refusal{"moves packets in a pipeline, whose rounds would all carry the same flags",
                   "use packets outside of pipelines, or data with signals"};
  }
  if (op.channel_type == ChannelType::multicast ||
      any_operand(op, [](const Operand& operand) { return operand.place == Operand::Place::group; })) {
    return Refusal{"uses a switch channel: sums and stores inside a switch (NVLS) are not modelled",
                   "use memory or port channels"};
  }
  if (op.channel_type == ChannelType::port) return std::nullopt;
  std::set<std::int32_t> peers;
  for (const std::uint32_t channel : op.channels) peers.insert(plan.gpus[gpu].memory[channel].peer);
  for (const auto* operands : {&op.sources, &op.destinations}) {
    for (const Operand& operand : *operands) peers.insert(operand.gpu);
  }
  for (const std::int32_t peer : peers) {
    if (peer / node == static_cast<std::int32_t>(gpu) / node) continue;
    return Refusal{fmt::format("uses a memory channel to gpu {}, whose memory its threads cannot reach", peer),
                   fmt::format("use a port channel, or a system in which {} GPUs share a node", plan.gpus.size())};
  }
  return std::nullopt;
}

}  // namespace moire::mscclpp
