#include "models/workload/collective/selection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "models/hardware/machine/parts.hpp"
#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/nvls.hpp"
#include "models/workload/collective/relays.hpp"
#include "sim/core/log.hpp"

namespace moire::collective {

namespace {

using libraries::ChannelsSpec;
using libraries::ExpectationSpec;
using libraries::ProtocolSpec;

constexpr Protocol protocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};

const std::optional<ExpectationSpec>& expectation_of(const ChannelsSpec& channels, const ProtocolSpec& protocol,
                                                     const ChannelAlgorithm& algorithm,
                                                     const machine::SystemSpec& system, Kind kind) {
  static const std::optional<ExpectationSpec> none;
  if (&algorithm != &nvls_algorithm) return algorithm.expectation ? protocol.*algorithm.expectation : none;
  const bool taken = kind == Kind::all_reduce && system.ranks() >= channels.nvls->least_ranks;
  return taken ? channels.nvls->expectation : none;
}

// Returns the rate for a number of nodes, or `otherwise` if `rates` is empty. The first rate is for the smallest number
// of nodes, the last also for all larger numbers. `more_nodes` counts the nodes beyond the smallest number.
double of_nodes(const std::vector<BytesPerSecond>& rates, std::int64_t more_nodes, double otherwise) {
  if (rates.empty()) return otherwise;
  return rates[std::min(static_cast<std::size_t>(more_nodes), rates.size() - 1)].value;
}

// Returns the bytes per second of those links of a GPU that lead to other GPUs of the node.
double port(const machine::NodeSpec& node) {
  return node.gpu.port.link_bandwidth.value * static_cast<double>(machine::links_in_use(node));
}

// Returns the rate, in bytes per second, at which the library expects the bytes of a rank's port to move. The NICs
// limit this rate, too, if there are several nodes or no links between GPUs.
double rate_of(const ExpectationSpec& expectation, const ChannelsSpec& channels, const machine::SystemSpec& system,
               const ChannelAlgorithm& algorithm) {
  const bool wired = port(system.node) > 0;
  double rate = port(system.node) * expectation.port_share;
  if (system.node.nic && (system.nodes > 1 || !wired)) {
    const double own = static_cast<double>(system.node.nics) / static_cast<double>(system.node.gpus);
    const double nics = algorithm.nics_together && system.nodes > 1 ? static_cast<double>(system.node.nics) : own;
    const double share =
        system.nodes > 1 ? expectation.network_share.value_or(expectation.port_share) : expectation.port_share;
    const double outside = system.node.nic->bandwidth.value * nics * share;
    rate = wired ? std::min(rate, outside) : outside;
  }
  if (system.nodes == 1) {
    if (expectation.at_most) rate = std::min(rate, expectation.at_most->value);
  } else {
    rate = std::min(rate, of_nodes(expectation.network_at_most, system.nodes - 2, rate));
  }
  if (expectation.ring_at_most.empty()) return rate;
  return std::min(rate, rings_of(channels, system).rings * of_nodes(expectation.ring_at_most, system.nodes - 1, rate));
}

double size_factor(const ExpectationSpec& expectation, double bytes) {
  for (double most = 128; const double factor : expectation.size_factors) {
    if (bytes < most) return factor;
    most *= 2;
  }
  return 1;
}

std::uint32_t channels_for(const ProtocolSpec& protocol, const ChannelAlgorithm& algorithm,
                           const machine::SystemSpec& system, const Question& question, std::int64_t most) {
  const auto ranks = static_cast<double>(system.ranks());
  const double all = question.bytes * (question.kind == Kind::all_gather ? ranks : 1);
  const double smallest =
      protocol.smallest_share.value + (algorithm.is_tree ? 1 : ranks) * protocol.smallest_share_per_rank.value;
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

ProtocolSpec fitted(ProtocolSpec protocol, const machine::SystemSpec& system, const Choice& choice, double bytes) {
  if (!algorithm_of(choice.algorithm).is_tree || !protocol.tree_chunk) return protocol;
  const libraries::TreeChunkSpec& rule = *protocol.tree_chunk;
  const auto gpus = static_cast<double>(system.node.gpus);
  const double levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(system.nodes))) +
                        gpus / 10;  // NCCL's calcCollChunking: 1 + log2(nodes) + 0.1 x GPUs of a node
  double chunk = rule.most.value;
  const auto halve = [&](double wanted, const std::optional<Bytes>& least) {
    if (!least) return;
    while (std::floor(bytes / (choice.channels * chunk)) < levels * wanted / gpus && chunk > least->value) chunk /= 2;
  };
  halve(rule.many, rule.some);
  halve(rule.few, rule.least);
  protocol.chunk = Bytes{std::ceil(chunk / 16) * 16};
  protocol.slices = 1;
  protocol.slots = rule.slots;
  return protocol;
}

namespace {

Rings rings_through(const libraries::NetworkRingsSpec& rule, std::int64_t nics, double nic) {
  double rings = static_cast<double>(nics) * std::max(1.0, std::floor(nic / rule.rate.value));
  if (rings <= static_cast<double>(rule.few) && nic >= rule.doubled_from.value) rings *= 2;
  return {rings, static_cast<std::int64_t>(std::min(2 * rings, 1024.0))};
}

bool through_nics(const ChannelsSpec& channels, const machine::SystemSpec& system) {
  return system.nodes > 1 && channels.network && system.node.nic;
}

// Returns the numbers of channels that the library takes with the system's NICs or with slower NICs, so that a faster
// NIC removes no choice.
std::set<std::int64_t> channels_up_to(const ChannelsSpec& channels, const machine::SystemSpec& system) {
  std::set<std::int64_t> counts{rings_of(channels, system).channels};
  if (!through_nics(channels, system)) return counts;
  const libraries::NetworkRingsSpec& rule = *channels.network;
  const double own = system.node.nic->bandwidth.value;
  constexpr double most_rates = 16;  // largest number of rings per NIC; with NCCL's 48 GB/s per ring, a NIC of 768 GB/s
  std::vector<double> slower{0, rule.doubled_from.value};
  for (double rates = 1; rates <= most_rates; ++rates) slower.push_back(rates * rule.rate.value);
  for (const double nic : slower)
    if (nic <= own) counts.insert(rings_through(rule, system.node.nics, nic).channels);
  return counts;
}

}  // namespace

Rings rings_of(const ChannelsSpec& channels, const machine::SystemSpec& system) {
  if (!through_nics(channels, system)) return {static_cast<double>(channels.channels) / 2, channels.channels};
  return rings_through(*channels.network, system.node.nics, system.node.nic->bandwidth.value);
}

bool by_one_nic(const libraries::LibrarySpec& library, const machine::SystemSpec& system) {
  const machine::NodeSpec& node = system.node;
  if (!through_nics(*library.channels, system) || node.nics < node.gpus || !Relays(library, node).any()) return false;
  const libraries::NetworkRingsSpec& rule = *library.channels->network;
  const double nic = node.nic->bandwidth.value;
  const double all =
      rings_through({rule.rate, rule.doubled_from, 0}, node.nics, nic).rings * std::min(nic, rule.rate.value);
  return all <= rule.port_share * port(node);
}

double expected(const ExpectationSpec& expectation, const ChannelsSpec& channels, const machine::SystemSpec& system,
                Kind kind, Algorithm number, double bytes) {
  const ChannelAlgorithm& algorithm = algorithm_of(number);
  const Hops steps = algorithm.hops(system, kind);
  const bool several = system.nodes > 1;
  const Time hop = several ? expectation.hop_in_node.value_or(expectation.hop) : expectation.hop;
  double latency =
      expectation.start.seconds() + steps.in_node * hop.seconds() + steps.between * expectation.network_hop.seconds();
  double rate = rate_of(expectation, channels, system, algorithm);
  if (kind == Kind::all_reduce) {
    if (several) latency *= expectation.latency_factor;
    rate *= size_factor(expectation, bytes);
  }
  return latency + algorithm.traffic(kind, static_cast<double>(system.ranks()), bytes) / rate;
}

double least_time(const ProtocolSpec& protocol, const machine::SystemSpec& system, Kind kind, Algorithm number,
                  double bytes) {
  const ChannelAlgorithm& algorithm = algorithm_of(number);
  const auto ranks = static_cast<double>(system.ranks());
  const auto gpus = static_cast<double>(system.node.gpus);
  const double travels = protocol.wire * algorithm.traffic(kind, ranks, bytes);
  double time = 0;
  if (system.nodes == 1 && port(system.node) > 0) time = travels / port(system.node);
  if (system.nodes > 1 && system.node.nic) {
    const double nics = static_cast<double>(system.node.nics) * system.node.nic->payload_bandwidth().value;
    // In rings and trees, the bytes through one rank's port pass all NICs of the node together once. In other
    // algorithms, all ranks of the node send to other nodes.
    const double outside = algorithm.nics_together ? travels : travels * gpus * (ranks - gpus) / (ranks - 1);
    // A tree with two nodes sends only half of its traffic out of a node, so half is the bound for all trees.
    time = std::max(time, (algorithm.is_tree ? 0.5 : 1) * outside / nics);
  }
  return time;
}

namespace {

std::vector<Choice> candidates(const ChannelsSpec& channels, const machine::SystemSpec& system,
                               const Question& question, std::int64_t most) {
  std::vector<Choice> all;
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const auto algorithm = static_cast<Algorithm>(i + 1);
    const bool asked = question.algorithm == algorithm;
    if (chosen(question.algorithm) && !asked) continue;
    if (!algorithms[i]->can(question.kind, system)) continue;
    const bool nvls = is_nvls(algorithm);
    if (nvls && !has_nvls(channels, algorithm)) continue;
    const std::int64_t here = algorithm == Algorithm::nvls_sharp ? std::min(channels.nvls->channels, most)
                              : nvls                             ? channels.nvls->channels
                                                                 : most;
    for (const Protocol protocol : protocols) {
      if (nvls && protocol != Protocol::simple) continue;
      if (question.protocol != Protocol::automatic && question.protocol != protocol) continue;
      const ProtocolSpec* spec = protocol_of(channels, protocol);
      if (spec == nullptr) continue;
      const std::optional<ExpectationSpec>* expectation =
          &expectation_of(channels, *spec, *algorithms[i], system, question.kind);
      // A requested algorithm without an estimate is judged by the estimate of rings.
      if (!*expectation && asked && !nvls) expectation = &spec->ring;
      Choice choice{
          algorithm, protocol,
          channels_for(*spec, *algorithms[i], system, question, std::min(here, question.channels.value_or(most)))};
      if (*expectation)
        choice.expected = expected(**expectation, channels, system, question.kind, algorithm, question.bytes);
      all.push_back(choice);
    }
  }
  return all;
}

}  // namespace

std::vector<Choice> candidates(const ChannelsSpec& channels, const machine::SystemSpec& system,
                               const Question& question) {
  std::vector<Choice> all;
  for (const std::int64_t most : channels_up_to(channels, system)) {
    for (const Choice& choice : candidates(channels, system, question, most)) {
      const auto same = [&](const Choice& other) {
        return other.algorithm == choice.algorithm && other.protocol == choice.protocol &&
               other.channels == choice.channels;
      };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back(choice);
    }
  }
  return all;
}

Choice choose(const ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question) {
  const std::vector<Choice> all = candidates(channels, system, question, rings_of(channels, system).channels);
  // If no candidate has an estimate, the choice is the first candidate: a ring, or the requested algorithm.
  const auto* best = all.data();
  for (const Choice& choice : all) {
    if (choice.expected && (!best->expected || *choice.expected < *best->expected)) best = &choice;
  }
  if (core::logs(core::LogLevel::info))
    core::log_info("{} of {:.0f} bytes on {} ranks: {}, {}, at most {} channels{}", name_of(question.kind),
                   question.bytes, system.ranks(), name_of(best->algorithm), name_of(best->protocol), best->channels,
                   best->expected ? fmt::format(", expected to take {:.1f} us", *best->expected * 1e6) : "");
  return *best;
}

}  // namespace moire::collective
