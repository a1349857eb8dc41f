// Code that all programs share: parameters, and the conversion of a spec to an entry of the registry.
#pragma once

#include <fmt/format.h>

#include <memory>

#include "models/algorithms/mscclang/compile.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"

namespace moire::mscclang {

// The ranks for which a program is written.
struct Ranks {
  std::int32_t nodes = 1;
  std::int32_t gpus = 8;  // on each node
  std::int32_t all() const { return nodes * gpus; }
  std::int32_t of(std::int32_t node, std::int32_t gpu) const { return node * gpus + gpu; }
};

// Says why a program does not exist for these ranks, such as "over 3 GPUs, but ..."; empty if the program exists.
using Refusal = std::optional<std::string>;

struct CommonSpec {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::int64_t instances = 1;
  ir::Protocol protocol = ir::Protocol::simple;
  std::optional<Bytes> min_bytes;
  std::optional<Bytes> max_bytes;

  Refusal refuse(const Ranks&) const { return std::nullopt; }
};

// For programs in which each GPU exchanges data with many peers, with one thread block for each peer.
struct PeersSpec : CommonSpec {
  bool own_receive_blocks = false;

  // Returns a placement on thread blocks that are numbered by the peer. The program can then place local work on the
  // same blocks.
  Placement with_peer(std::int32_t from, std::int32_t to, std::int32_t ranks) const {
    return {.send_block = to, .recv_block = own_receive_blocks ? ranks + from : from};
  }
};

Refusal power_of_two(const Ranks& ranks);
Refusal at_most(const Ranks& ranks, std::int32_t most);

std::optional<Ranks> ranks_of(const CommonSpec& spec, Shape shape, const config::Node& node,
                              config::Diagnostics& diagnostics);
Options options_of(const CommonSpec& spec, std::string name, ir::Collective collective, const Ranks& ranks,
                   std::int32_t chunk_factor);
// Returns the same options for a program that names its thread blocks.
inline Options options_of(const PeersSpec& spec, std::string name, ir::Collective collective, const Ranks& ranks,
                          std::int32_t chunk_factor) {
  const CommonSpec& common = spec;
  Options made = options_of(common, std::move(name), collective, ranks, chunk_factor);
  made.blocks = Blocks::manual;
  return made;
}
inline Options out_of_place(Options options) {
  options.in_place = false;
  return options;
}
std::optional<msccl::Algorithm> report(const std::function<msccl::Algorithm()>& make, const config::Node& node,
                                       config::Diagnostics& diagnostics);

template <class Spec>
void describe_common(config::Describer<Spec>& d) {
  d.field("nodes", &Spec::nodes, "Nodes that the program is written for; absent: the nodes of the system")
      .range(1, 1024);
  d.field("gpus_per_node", &Spec::gpus_per_node, "GPUs of a node; absent: the GPUs of a node of the system")
      .range(1, 1024);
  d.field("instances", &Spec::instances,
          "Copies of the program, each on a share of every chunk, with channels and thread blocks of its own")
      .range(1, 32)
      .or_default();
  d.field("protocol", &Spec::protocol, "Protocol of the FIFOs")
      .choices({{"simple", ir::Protocol::simple}, {"ll", ir::Protocol::ll}, {"ll128", ir::Protocol::ll128}})
      .or_default();
  d.field("min_bytes", &Spec::min_bytes,
          "Size of the smallest whole buffer that the program is chosen for; absent: no limit");
  d.field("max_bytes", &Spec::max_bytes,
          "Size of the largest whole buffer that the program is chosen for; absent: no limit");
}

template <class Spec>
void describe_peers(config::Describer<Spec>& d) {
  describe_common(d);
  d.field("own_receive_blocks", &Spec::own_receive_blocks,
          "true: receives have thread blocks of their own, which doubles the number of blocks, and the program never "
          "deadlocks; false: one thread block serves both directions of a peer, and the program deadlocks if a "
          "connection cannot hold all that is sent before the first receive")
      .or_default();
}

// Makes the entry of a program. Its Spec must have a name, describe(), Options options(Ranks) const and void
// write(Program&, Ranks) const. If the program is impossible for some ranks, its Spec also has refuse(Ranks).
template <class Spec>
ProgramEntry entry() {
  return {Spec::name, [](const config::Node& node, config::Diagnostics& diagnostics, Shape shape) {
            const auto spec = config::parse<Spec>(node, diagnostics);
            if (!spec) return std::optional<msccl::Algorithm>();
            const auto ranks = ranks_of(*spec, shape, node, diagnostics);
            if (!ranks) return std::optional<msccl::Algorithm>();
            if (const Refusal refusal = spec->refuse(*ranks)) {
              diagnostics.error(node.place, fmt::format("{} {}", Spec::name, *refusal));
              return std::optional<msccl::Algorithm>();
            }
            return report(
                [&] {
                  Program program(spec->options(*ranks));
                  spec->write(program, *ranks);
                  return compile(program);
                },
                node, diagnostics);
          }};
}

// The list of all programs. Each add_...() function below adds the programs of one source file.
struct Family {
  std::vector<ProgramEntry> entries;
  std::vector<std::function<void(config::Catalogue&)>> specs;

  template <class Spec>
  void add() {
    entries.push_back(entry<Spec>());
    specs.push_back([](config::Catalogue& catalogue) { catalogue.add<Spec>(); });
  }
};
void add_all_reduce(Family& family);
void add_all_reduce_nodes(Family& family);
void add_all_gather(Family& family);
void add_reduce_scatter(Family& family);
void add_all_to_all(Family& family);
void add_all_to_next(Family& family);
void add_rooted(Family& family);

}  // namespace moire::mscclang
