#include "models/workload/collective/selection.hpp"

#include <algorithm>
#include <bit>

#include "sim/core/log.hpp"

namespace moire::collective {

namespace {

using libraries::ChannelsSpec;
using libraries::ExpectationSpec;
using libraries::ProtocolSpec;

constexpr Algorithm algorithms[] = {Algorithm::ring, Algorithm::tree, Algorithm::direct, Algorithm::recursive};
constexpr Protocol protocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};

const std::optional<ExpectationSpec>& expectation_of(const ProtocolSpec& protocol, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return protocol.tree;
    case Algorithm::direct:
      return protocol.direct;
    case Algorithm::recursive:
      return protocol.recursive;
    default:
      return protocol.ring;
  }
}

bool can(Kind kind, Algorithm algorithm, std::int64_t ranks) {
  const bool power_of_two = std::has_single_bit(static_cast<std::uint64_t>(ranks));
  switch (algorithm) {
    case Algorithm::tree:
      return kind == Kind::all_reduce || kind == Kind::broadcast;
    case Algorithm::recursive:
      return kind != Kind::broadcast && power_of_two;
    default:
      return true;
  }
}

// Steps that follow each other.
struct Hops {
  double in_node = 0;
  double between = 0;
};
Hops hops(const machine::SystemSpec& system, Kind kind, Algorithm algorithm) {
  const auto ranks = static_cast<double>(system.ranks());
  const auto nodes = static_cast<double>(system.nodes);
  const auto logarithm = [](std::int64_t n) {
    return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n) - 1));
  };
  const double times = kind == Kind::all_reduce ? 2 : 1;
  switch (algorithm) {
    case Algorithm::tree:
      return {times * static_cast<double>(system.node.gpus - 1), times * logarithm(system.nodes)};
    case Algorithm::direct:
      return {nodes > 1 ? 0 : times, nodes > 1 ? times : 0};
    case Algorithm::recursive:
      return {times * (logarithm(system.ranks()) - logarithm(system.nodes)), times * logarithm(system.nodes)};
    default:
      return {times * (ranks - nodes), times * (nodes - 1)};
  }
}

// Bytes through the port of the busiest rank.
double traffic(const machine::SystemSpec& system, Kind kind, Algorithm algorithm, double bytes) {
  const auto ranks = static_cast<double>(system.ranks());
  switch (kind) {
    case Kind::all_gather:
      return (ranks - 1) * bytes;
    case Kind::all_reduce:
      return algorithm == Algorithm::tree ? 2 * bytes : 2 * bytes * (ranks - 1) / ranks;
    case Kind::broadcast:
      return algorithm == Algorithm::direct ? (ranks - 1) * bytes : bytes;
    default:
      return bytes * (ranks - 1) / ranks;
  }
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

double expected(const ExpectationSpec& expectation, const machine::SystemSpec& system, Kind kind, Algorithm algorithm,
                double bytes) {
  const Hops steps = hops(system, kind, algorithm);
  double rate = port(system) * expectation.port_share;
  if (expectation.at_most) rate = std::min(rate, expectation.at_most->value);
  return expectation.start.seconds() + steps.in_node * expectation.hop.seconds() +
         steps.between * expectation.network_hop.seconds() + traffic(system, kind, algorithm, bytes) / rate;
}

Choice choose(const ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question) {
  Choice best;
  if (question.algorithm != Algorithm::automatic) best.algorithm = question.algorithm;
  if (question.protocol != Protocol::automatic) best.protocol = question.protocol;
  double soonest = -1;
  for (const Algorithm algorithm : algorithms) {
    if (question.algorithm != Algorithm::automatic && question.algorithm != algorithm) continue;
    if (!can(question.kind, algorithm, system.ranks())) continue;
    for (const Protocol protocol : protocols) {
      if (question.protocol != Protocol::automatic && question.protocol != protocol) continue;
      const ProtocolSpec* spec = protocol_of(channels, protocol);
      if (spec == nullptr) continue;
      const std::optional<ExpectationSpec>* expectation = &expectation_of(*spec, algorithm);
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
