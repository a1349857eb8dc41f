#include "models/workload/collective/selection.hpp"

#include <algorithm>

#include "models/workload/collective/algorithms.hpp"
#include "sim/core/log.hpp"

namespace moire::collective {

namespace {

using libraries::ChannelsSpec;
using libraries::ExpectationSpec;
using libraries::ProtocolSpec;

constexpr Protocol protocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};

const std::optional<ExpectationSpec>& expectation_of(const ProtocolSpec& protocol, const ChannelAlgorithm& algorithm) {
  static const std::optional<ExpectationSpec> none;
  return algorithm.expectation ? protocol.*algorithm.expectation : none;
}

// Of a rank, also through the NICs where there are several nodes.
double port(const machine::SystemSpec& system) {
  const link::PortSpec& links = system.node.gpu.port;
  const double in_node = links.link_bandwidth.value * static_cast<double>(links.links);
  if (system.nodes == 1 && system.node.wiring != link::Wiring::none) return in_node;
  if (!system.node.nic) return in_node;
  const double outside =
      system.node.nic->bandwidth.value * static_cast<double>(system.node.nics) / static_cast<double>(system.node.gpus);
  return system.node.wiring == link::Wiring::none ? outside : std::min(in_node, outside);
}

std::uint32_t channels_for(const ProtocolSpec& protocol, const machine::SystemSpec& system, const Question& question,
                           std::int64_t most) {
  const auto ranks = static_cast<double>(system.ranks());
  const double all = question.bytes * (question.kind == Kind::all_gather ? ranks : 1);
  const double smallest = protocol.smallest_share.value + ranks * protocol.smallest_share_per_rank.value;
  while (most > 1 && all < smallest * static_cast<double>(most)) --most;
  return static_cast<std::uint32_t>(most);
}

}  // namespace

const ProtocolSpec* protocol_of(const ChannelsSpec& channels, Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return channels.ll ? &*channels.ll : nullptr;
    case Protocol::ll128:
      return channels.ll128 ? &*channels.ll128 : nullptr;
    default:
      return &channels.simple;
  }
}

double expected(const ExpectationSpec& expectation, const machine::SystemSpec& system, Kind kind, Algorithm number,
                double bytes) {
  const ChannelAlgorithm& algorithm = algorithm_of(number);
  const Hops steps = algorithm.hops(system, kind);
  const double through_port = algorithm.traffic(kind, static_cast<double>(system.ranks()), bytes);
  double rate = port(system) * expectation.port_share;
  if (expectation.at_most) rate = std::min(rate, expectation.at_most->value);
  return expectation.start.seconds() + steps.in_node * expectation.hop.seconds() +
         steps.between * expectation.network_hop.seconds() + through_port / rate;
}

Choice choose(const ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question) {
  Choice best;
  if (question.algorithm != Algorithm::automatic) best.algorithm = question.algorithm;
  if (question.protocol != Protocol::automatic) best.protocol = question.protocol;
  double soonest = -1;
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const auto algorithm = static_cast<Algorithm>(i + 1);
    if (question.algorithm != Algorithm::automatic && question.algorithm != algorithm) continue;
    if (!algorithms[i]->can(question.kind, system.ranks())) continue;
    for (const Protocol protocol : protocols) {
      if (question.protocol != Protocol::automatic && question.protocol != protocol) continue;
      const ProtocolSpec* spec = protocol_of(channels, protocol);
      if (spec == nullptr) continue;
      const std::optional<ExpectationSpec>* expectation = &expectation_of(*spec, *algorithms[i]);
      // Of an algorithm that was asked for and that the library never takes by itself: as of its rings.
      if (!*expectation && question.algorithm != Algorithm::automatic) expectation = &spec->ring;
      if (!*expectation) continue;
      const double time = expected(**expectation, system, question.kind, algorithm, question.bytes);
      if (soonest >= 0 && time >= soonest) continue;
      soonest = time;
      best.algorithm = algorithm;
      best.protocol = protocol;
    }
  }
  const std::int64_t most = std::min(channels.channels, question.channels.value_or(channels.channels));
  best.channels = channels_for(*protocol_of(channels, best.protocol), system, question, most);
  if (core::logs(core::LogLevel::info))
    core::log_info("{} of {:.0f} bytes on {} ranks: {}, {}, at most {} channels{}", name_of(question.kind),
                   question.bytes, system.ranks(), name_of(best.algorithm), name_of(best.protocol), best.channels,
                   soonest < 0 ? "" : fmt::format(", expected to take {:.1f} us", soonest * 1e6));
  return best;
}

}  // namespace moire::collective
